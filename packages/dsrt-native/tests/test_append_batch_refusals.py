"""What append_batch refuses: all of a batch, with field and sample, and the writer goes on."""

import datetime
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest

from dsrt_format import Dense, SchemaError, reference
from dsrt_native import CacheWriter, RaggedArray

from .batches import ARROW, COLUMNS, FIELDS, N, batch, table

BAD: list[tuple[str, Any, str]] = [
    # The same refusals as append, with the number of the sample where it is one sample's.
    ("image", np.zeros((N, 2, 3, 3)), "dtype is float64.*astype"),
    ("image", np.zeros((N, 2, 3, 3), ">u2"), "dtype is"),
    ("image", np.ma.zeros((N, 2, 3, 3), np.uint8), "masked"),
    ("image", np.zeros((N, 3, 3, 2), np.uint8), r"^field image, sample 1: the shape is \[3, 3, 2\]"),
    ("image", np.zeros(N, np.uint8), r"^field image, sample 1: the shape is \[\]"),
    ("image", np.uint8(3), "first axis"),
    ("image", [np.zeros((2, 3, 3), np.uint8)] * N, r"numpy.asarray\(value, 'uint8'\)"),
    ("image", pa.array([[1, 2]] * N, pa.list_(pa.uint8())), "fixed-size lists"),
    ("image", pa.array([[1, 2]] * N, pa.list_(pa.uint8(), 2)), r"sample 1: the shape is \[2\]"),
    ("scalar", np.arange(N), "int64"),
    ("scalar", [1, 2, 2**15, 4, 5, 6, 7], "^field scalar, sample 3: .*-32768 to 32767"),
    ("scalar", [1, 2, "3", 4, 5, 6, 7], "^field scalar, sample 3: "),
    ("scalar", pa.array([1, 2, None, 4, 5, 6, 7], pa.int16()), "^field scalar, sample 3: a null"),
    ("scalar", pa.array(range(N), pa.int32()), "Int32 is not stored as int16"),
    ("tokens", [np.zeros(2, np.int32)] * 3 + [np.zeros(2)] * 4, "^field tokens, sample 4: .*float64"),
    (
        "tokens",
        [np.zeros(2, np.int32)] * 5 + [np.zeros((1, 2), np.int32)] * 2,
        "^field tokens, sample 6: .*2 axes",
    ),
    ("tokens", RaggedArray(np.zeros(9, np.int64), np.arange(N + 1)), "int64"),
    ("tokens", RaggedArray(np.zeros(N - 1, np.int32), np.arange(N + 1)), "offsets"),
    ("tokens", RaggedArray(np.zeros(9, np.int32), np.arange(N + 1)[::-1]), "offsets"),
    ("tokens", RaggedArray(np.zeros(9, np.int32), np.arange(-1, N)), "integers from 0"),
    ("tokens", RaggedArray(np.zeros((3, 3), np.int32), np.arange(N + 1)), "one axis"),
    (
        "tokens",
        RaggedArray(np.zeros(N, np.int32), np.arange(N + 1), np.ones((N, 2), int)),
        "2 axes, and the field 1",
    ),
    ("tokens", pa.array([[1, None]] * N, pa.list_(pa.int32())), "^field tokens, sample 1: a null"),
    ("tokens", pa.array([[1], [], [2, 3, None], [], [], [], []], pa.list_(pa.int32())), "sample 3: a null"),
    ("tokens", pa.array([[1], None, [2], [], [], [], []], pa.list_(pa.int32())), "sample 2: a null"),
    ("tokens", pa.array([[1]] * N, pa.list_(pa.int64())), "Int64 is not stored as int32; cast its elements"),
    ("tokens", pa.array([[[1]]] * N, pa.list_(pa.list_(pa.int32()))), "List"),
    ("boxes", RaggedArray(np.zeros(N), np.arange(N + 1)), "1 axes, and the field 2"),
    ("boxes", RaggedArray(np.zeros(N), np.arange(N + 1), np.full((N, 2), 3)), "sample 1: 8 bytes .* of 72"),
    (
        "boxes",
        pa.array([[[1.0, 2.0]] * 3, [[3.0, None]], *[[]] * 5], pa.list_(pa.list_(pa.float64(), 2))),
        "^field boxes, sample 2: a null",
    ),
    ("data", [b"x", "y"] + [b""] * 5, "^field data, sample 2: .*encode"),
    ("data", np.array([b"x"] * N), "zeros at the end"),
    ("data", pa.array(["x"] * N), "Utf8 is not stored as a field of bytes"),
    ("data", b"x" * N, "builtins.bytes"),
    ("text", ["x", b"y"] + [""] * 5, "^field text, sample 2: .*decode"),
    ("text", ["x", "\ud800"] + [""] * 5, "^field text, sample 2: .*surrogate"),
    ("text", "x" * N, "builtins.str"),
    ("text", pa.array(["x", "y", None] + [""] * 4), "^field text, sample 3: a null"),
    ("text", np.arange(N), "list of str"),
    ("label", np.array([1, 2, 3, 128, 5, 6, 7]), "^field label, sample 4: 128 is out of range"),
    ("label", np.arange(N) / 2, "float"),
    ("label", np.zeros(N, bool), "bool"),
    ("label", np.arange(N, dtype=">i4"), "big-endian"),
    ("label", np.zeros((N, 1), np.int8), "shape"),
    ("label", np.ma.zeros(N, np.int8), "masked"),
    ("label", np.zeros(N, complex), "complex"),
    ("label", [1, 2, 3.5, 4, 5, 6, 7], "^field label, sample 3: .*float"),
    ("label", ["1"] * N, "str"),
    ("label", np.zeros(N, "M8[s]"), "no time"),
    ("label", pa.array([1, 2, 300] + [0] * 4), "^field label, sample 3: 300 is out of range"),
    ("label", pa.array(["1"] * N), "a string is not stored as int8"),
    ("label", pa.array([datetime.date(2024, 1, 1)] * N), "Date32 is not stored as int8"),
    ("label", pa.array([[1]] * N), "List.* is not stored as int8"),
    ("score", np.full(N, 0.1), "^field score, sample 1: .*numpy.float32"),
    ("score", pa.array([0.5, 0.1] + [0.0] * 5), "^field score, sample 2: .*numpy.float32"),
    ("good", np.zeros(N, np.uint8), "integer"),
    ("name", [1] * N, "str"),
    ("name", pa.array([b"x"] * N), "bytes"),
    ("raw", np.array([b"x"] * N), "zeros at the end"),
    ("day", np.arange(N), "holds a date"),
    ("day", np.array(["2024-01-01T01"] * N, "M8[h]"), "^field day, sample 1: .*whole number"),
    ("day", pa.array(range(N)), "Int64 is not stored as date"),
    ("at", np.array([0, 1, 1500], "M8[ns]")[[0, 0, 2, 0, 0, 0, 0]], "^field at, sample 3: .*whole number"),
    ("at", np.full(N, 2**62, "M8[s]"), "^field at, sample 1: "),
    ("at", np.array(["2024"] * N, "M8[Y]"), "differ in length"),
    ("at", np.zeros(N, "m8[us]"), "timedelta64"),
    ("at", [datetime.datetime(2024, 1, 1), 5] + [None] * 5, "^field at, sample 2: "),
    ("at", pa.array([0, 1500] + [0] * 5, pa.timestamp("ns")), "^field at, sample 2: .*whole number"),
    ("at", pa.array([0] * N, pa.timestamp("us", "UTC")), "zone"),
    ("at", pa.array([2**62] * N, pa.timestamp("s")), "^field at, sample 1: .*out of range"),
    ("seen", pa.array([0] * N, pa.timestamp("us")), "zone"),
    ("weight", [1.0, None] + [1.0] * 5, "^field weight, sample 2: .*weight"),
    ("weight", np.array([1, 2, np.nan, 1, 1, 1, 1]), "^field weight, sample 3: .*NaN"),
    ("weight", np.full(N, -1.0), "-1"),
    ("label", np.zeros(N - 1, np.int8), f"there are {N - 1} values, and {N} of image"),
    ("image", np.zeros((N + 1, 2, 3, 3), np.uint8), f"there are {N} values, and {N + 1} of image"),
    ("label", 5, "builtins.int"),
    ("label", None, "NoneType"),
    ("label", {"a": 1}, "builtins.dict"),
]


@pytest.mark.parametrize(("name", "values", "said"), BAD, ids=lambda value: repr(value)[:40])
def test_a_batch_with_one_bad_value_is_refused_as_a_whole_and_the_writer_goes_on(
    tmp_path, name, values, said
):
    good = {key: column[:1] for key, column in batch().items()}
    with CacheWriter(tmp_path / "x", FIELDS, COLUMNS) as writer:
        writer.append_batch(good)
        with pytest.raises(SchemaError, match=f"(?s){said}") as caught:
            writer.append_batch(batch() | {name: values})
        assert str(caught.value).startswith("field ")
        assert writer.count == 1
        writer.append_batch(good)
    first, second = reference.read(tmp_path / "x")
    np.testing.assert_equal(first, second)


def test_missing_and_unknown_names_are_refused(tmp_path):
    with CacheWriter(tmp_path / "x", FIELDS, COLUMNS) as writer:
        for name, what in (("image", "field"), ("label", "column")):
            with pytest.raises(SchemaError, match=f"field {name}: there are no values for this {what}"):
                writer.append_batch({key: values for key, values in batch().items() if key != name})
        with pytest.raises(
            SchemaError, match=r"the columns have 7, lable, which no field .*; there are image, .*label"
        ):
            writer.append_batch(batch() | {"lable": [1] * N, 7: [2] * N})
        _, given = table(ARROW)
        with pytest.raises(SchemaError, match="field label: there are no values"):
            writer.append_batch(given.drop_columns(["label"]))
        with pytest.raises(SchemaError, match="the columns have other"):
            writer.append_batch(given.append_column("other", pa.array(range(N))))
        with pytest.raises(SchemaError, match="two columns of the table are called label"):
            writer.append_batch(given.append_column("label", pa.array(range(N))))
        assert writer.count == 0


@pytest.mark.parametrize("columns", [None, 5, [1], "image", [("image", [1])]])
def test_columns_are_a_mapping_or_a_table(tmp_path, columns):
    with (
        CacheWriter(tmp_path / "x", {"x": Dense("int8")}) as writer,
        pytest.raises(TypeError, match="a mapping of names to arrays and lists, or a table"),
    ):
        writer.append_batch(columns)


def test_a_record_batch_with_a_name_that_arrow_would_cut_is_refused(tmp_path):
    with (
        CacheWriter(tmp_path / "x", {"x": Dense("int8")}) as writer,
        pytest.raises(SchemaError, match=r"U\+0000"),
    ):
        writer.append_batch(pa.table({"x\0y": pa.array([1], pa.int8())}))


def test_dtypes_that_arrow_lacks_come_from_numpy(tmp_path):
    with CacheWriter(tmp_path / "x", {"x": Dense("bfloat16")}) as writer:
        with pytest.raises(SchemaError, match="Arrow has no bfloat16; give NumPy arrays"):
            writer.append_batch({"x": pa.array([1, 2], pa.uint16())})
        writer.append_batch({"x": np.ones(2, ml_dtypes.bfloat16)})
    assert [float(sample["x"]) for sample in reference.read(tmp_path / "x")] == [1, 1]


def test_a_closed_writer_takes_no_batch(tmp_path):
    with CacheWriter(tmp_path / "x", {"x": Dense("int8")}) as writer:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        writer.append_batch({"x": np.zeros(1, np.int8)})
