"""append_batch: the bytes of appending one by one, from arrays and lists of every kind."""

from typing import Any

import numpy as np
import pytest

from dsrt_format import Bytes, Dense, Ragged, Text, reference
from dsrt_format.dtypes import ITEMSIZE, numpy_dtype
from dsrt_native import Cache, CacheWriter, RaggedArray

from .batches import COLUMNS, FIELDS, N, at_once, batch, one_by_one
from .directories import files_of


def test_arrays_and_lists_give_the_bytes_of_appending_one_by_one(tmp_path):
    assert at_once(tmp_path, FIELDS, COLUMNS, batch()) == one_by_one(tmp_path, FIELDS, COLUMNS, batch())
    assert len(reference.read(tmp_path / "many" / "x")) == N


def test_it_does_not_matter_how_samples_are_divided_into_batches(tmp_path):
    columns = batch()

    def part(start: int, end: int) -> dict[str, Any]:
        return {name: values[start:end] for name, values in columns.items()}

    with CacheWriter(tmp_path / "many" / "x", FIELDS, COLUMNS, samples_per_shard=4) as writer:
        writer.append_batch(part(0, 0))
        writer.append_batch(part(0, 3))
        writer.append({name: values[3] for name, values in columns.items()})
        assert writer.count == 4
        writer.append_batch(part(4, 7))
        writer.append_batch(part(7, 7))
        assert writer.count == 7
    assert files_of(tmp_path / "many" / "x") == one_by_one(tmp_path, FIELDS, COLUMNS, columns)


@pytest.mark.parametrize("codec", ["raw", "zstd"])
@pytest.mark.parametrize("name", list(ITEMSIZE))
def test_every_dtype_keeps_every_bit_in_every_shape(tmp_path, name, codec):
    dtype = numpy_dtype(name)
    bits = np.random.default_rng(7).integers(0, 2 if name == "bool" else 256, 24 * dtype.itemsize, np.uint8)
    values = bits.view(dtype).reshape(4, 6)
    fields = {
        "scalar": Dense(name, codec=codec),
        "dense": Dense(name, (6,), codec=codec),
        "none": Dense(name, (3, 0), codec=codec),
        "ragged": Ragged(name, codec=codec),
        "equal": Ragged(name, 2, codec=codec),
        "flat": Ragged(name, 2, codec=codec),
    }
    lengths = [1, 0, 5, 18]
    offsets = np.cumsum([0, *lengths])
    columns = {
        "scalar": values[:, 0],
        "dense": values,
        "none": np.empty((4, 3, 0), dtype),
        "ragged": RaggedArray(values.ravel(), offsets),
        "equal": values.reshape(4, 2, 3),
        "flat": RaggedArray(values.ravel(), np.arange(0, 25, 6), np.array([[1, 6], [2, 3], [3, 2], [6, 1]])),
    }
    single = columns | {
        "ragged": columns["ragged"].to_list(),
        "flat": columns["flat"].to_list(),
    }
    assert at_once(tmp_path, fields, {}, columns) == one_by_one(tmp_path, fields, {}, single)


def test_what_a_cache_gives_goes_into_another(tmp_path):
    at_once(tmp_path, FIELDS, COLUMNS, batch())
    with Cache.open(tmp_path / "many" / "x") as cache:
        names = [name for name in (*FIELDS, *COLUMNS) if name not in ("score", "day")]
        found = cache.population.gather(range(N), names)
        fields = FIELDS
        columns = {name: kind for name, kind in COLUMNS.items() if name not in ("score", "day")}
        with CacheWriter(tmp_path / "copy" / "x", fields, columns, samples_per_shard=4) as writer:
            writer.append_batch(found)
    for ours, theirs in zip(
        reference.read(tmp_path / "copy" / "x"), reference.read(tmp_path / "many" / "x"), strict=True
    ):
        np.testing.assert_equal(ours, {name: theirs[name] for name in ours})


def test_arrays_of_any_strides_are_stored_in_c_order(tmp_path):
    base = np.arange(48, dtype=np.int16).reshape(2, 4, 6)
    columns = {"a": base.transpose(1, 2, 0)[::2, ::-3], "b": np.asfortranarray(base[0])[::-2]}
    fields = {"a": Dense("int16", (2, 2)), "b": Ragged("int16")}
    assert at_once(tmp_path, fields, {}, columns) == one_by_one(tmp_path, fields, {}, columns)


def test_other_sequences_hold_samples_too(tmp_path):
    fields = {
        "s": Dense("float32"),
        "r": Ragged("uint8"),
        "b": Bytes(),
        "c": Bytes(),
        "t": Text(),
        "u": Text(),
    }
    columns = {
        "s": (1, 0.5, np.float32(0.1)),
        "r": (b"ab", bytearray(b""), np.arange(3, dtype=np.uint8)),
        "b": (bytearray(b"x"), memoryview(b"yz"), b""),
        "c": np.arange(6, dtype=np.uint8).reshape(3, 2),
        "t": ("a", "", "ü"),
        "u": np.array(["a", "bb", ""]),
    }
    metadata = {"i": "int32", "s": "string", "o": "float64", "h": "float64"}
    metadata["n"] = metadata.pop("s")
    columns |= {
        "i": range(3),
        "n": np.array(["größe", "", "z"]),
        "o": np.array([1, None, 2.5], object),
        "h": np.array([0.5, 1, 2], np.float16),
    }
    assert at_once(tmp_path, fields, metadata, columns) == one_by_one(tmp_path, fields, metadata, columns)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("date", "M8[D]"),
        ("date", "M8[W]"),
        ("date", "M8[ns]"),
        ("timestamp[ms]", "M8[s]"),
        ("timestamp[us]", "M8[D]"),
        ("timestamp[us]", "M8[7ms]"),
        ("timestamp[ns, UTC]", "M8[us]"),
        ("timestamp[ms, UTC]", "M8[ns]"),
        ("duration[ms]", "m8[h]"),
        ("duration[us]", "m8[ps]"),
        ("duration[ns]", "m8[as]"),
    ],
)
def test_times_of_every_unit_are_converted_exactly_and_nat_is_null(tmp_path, kind, dtype):
    day = (
        np.timedelta64(1, "D")
        if np.datetime_data(dtype)[0] not in ("ps", "as")
        else np.timedelta64(500, "ms")
    )
    whole = (day * np.array([-3, 0, 14])).astype(dtype.replace("M8", "m8"))
    values = np.array([*whole.view(dtype), "NaT"], dtype)
    columns = {"x": np.zeros(4, np.int8), "t": values}
    fields, metadata = {"x": Dense("int8")}, {"t": kind}
    assert at_once(tmp_path, fields, metadata, columns) == one_by_one(tmp_path, fields, metadata, columns)
