"""append_batch of Arrow data: the bytes of appending one by one, from tables, chunks, slices and columns."""

import numpy as np
import pyarrow as pa
import pytest

from dsrt_format import Dense, DsrtError, Ragged, Text
from dsrt_native import Cache, CacheWriter

from .batches import ARROW, COLUMNS, FIELDS, OTHER, at_once, one_by_one, table


@pytest.mark.parametrize("types", [ARROW, ARROW | OTHER], ids=["some", "other"])
@pytest.mark.parametrize(
    "form",
    [
        lambda t: t,
        lambda t: t.combine_chunks().to_batches()[0],
        lambda t: pa.concat_tables([t[:3], t[3:3], t[3:]]),
        lambda t: {name: t[name] for name in t.column_names},
        lambda t: {name: t[name].combine_chunks() for name in t.column_names},
    ],
    ids=["table", "record batch", "chunks", "chunked arrays", "arrays"],
)
def test_arrow_data_give_the_bytes_of_appending_one_by_one(tmp_path, types, form):
    columns, given = table(types)
    assert at_once(tmp_path, FIELDS, COLUMNS, form(given)) == one_by_one(tmp_path, FIELDS, COLUMNS, columns)


def test_slices_of_arrow_data_are_stored_and_not_what_lies_around_them(tmp_path):
    columns, given = table(ARROW)
    middle = {name: values[2:5] for name, values in columns.items()}
    parts = (given[2:5], {name: given[name].combine_chunks()[2:5] for name in given.column_names})
    expected = one_by_one(tmp_path, FIELDS, COLUMNS, middle)
    for number, part in enumerate(parts):
        assert at_once(tmp_path / str(number), FIELDS, COLUMNS, part) == expected


def test_arrow_and_numpy_may_stand_side_by_side(tmp_path):
    columns, given = table(ARROW)
    mixed = columns | {name: given[name] for name in ("image", "boxes", "text", "name", "day")}
    assert at_once(tmp_path, FIELDS, COLUMNS, mixed) == one_by_one(tmp_path, FIELDS, COLUMNS, columns)


def test_arrow_halves_and_bools_are_payload_too(tmp_path):
    fields = {"h": Dense("float16", (2,)), "f": Ragged("bool"), "g": Dense("bool", (9,))}
    halves = np.arange(6, dtype=np.float16).reshape(3, 2)
    flags = [np.array([True, False, True] * i, bool) for i in range(3)]
    nines = np.arange(27).reshape(3, 9) % 2 == 0
    arrow = {
        "h": pa.FixedSizeListArray.from_arrays(pa.array(halves.ravel()), 2),
        "f": pa.array([flag.tolist() for flag in flags], pa.list_(pa.bool_())),
        "g": pa.FixedSizeListArray.from_arrays(pa.array(nines.ravel()), 9),
    }
    plain = {"h": halves, "f": flags, "g": nines}
    assert at_once(tmp_path, fields, {}, arrow) == one_by_one(tmp_path, fields, {}, plain)


def test_a_column_of_nothing_but_nulls_is_null(tmp_path):
    columns = {"x": [1, 2], "s": [None, None], "i": [None, None]}
    fields, metadata = {"x": Dense("int8")}, {"s": "string", "i": "date"}
    arrow = columns | {"s": pa.nulls(2), "i": pa.nulls(2)}
    assert at_once(tmp_path, fields, metadata, arrow) == one_by_one(tmp_path, fields, metadata, columns)


def test_arrow_data_that_lie_about_themselves_are_an_ordinary_error(tmp_path):
    words = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int32()), pa.array(["a", "b"]), safe=False)
    with CacheWriter(tmp_path / "x", {"x": Text()}) as writer:
        with pytest.raises(DsrtError):
            writer.append_batch({"x": words})
        writer.append_batch({"x": ["a", "b"]})
    assert Cache.open(tmp_path / "x")[1]["x"] == "b"
