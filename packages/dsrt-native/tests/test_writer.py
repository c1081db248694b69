"""CacheWriter: what goes in comes out, to the last bit, by the plain reader of dsrt_format."""

import array
import copy
import datetime
import json
import pickle
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from dsrt_format import Bytes, Dense, Manifest, Ragged, SchemaError, Text, Zstd, reference
from dsrt_format.dtypes import ITEMSIZE, numpy_dtype
from dsrt_format.validate import validate
from dsrt_native import CacheWriter

from .directories import files_of

VECTORS = Path(reference.__file__).parents[1] / "vectors" / "example"


def demo(path: Path) -> None:
    """The example of the specification, whose values this table repeats."""
    fields = {
        "image": Dense("uint8", (2, 2, 3)),
        "feat": Dense("float32", (4,), codec="zstd"),
        "tokens": Ragged("int32", codec=Zstd(dictionary=bytes(range(1, 65)))),
        "jpeg": Bytes(),
        "caption": Text(codec="zstd"),
    }
    attributes = {"note": "größe", "mean": [0.485, 0.456]}
    with CacheWriter(
        path,
        fields,
        {"label": "int64", "split": "string"},
        fingerprint="git:1a2b3c",
        attributes=attributes,
        samples_per_shard=3,
    ) as writer:
        for i in range(5):
            writer.append(
                {
                    "image": np.full((2, 2, 3), i, np.uint8),
                    "feat": np.arange(i, i + 4, dtype=np.float32),
                    "tokens": np.arange(i, dtype=np.int32),
                    "jpeg": b"\xff\xd8" * i,
                    "caption": "ü" * i,
                    "label": i,
                    "split": "train",
                }
            )


def test_the_example_of_the_specification_has_the_published_bytes_where_they_are_promised(tmp_path):
    demo(tmp_path / "demo")
    written, published = files_of(tmp_path / "demo"), files_of(VECTORS / "demo")
    assert written.keys() == published.keys()
    promised = [name for name in published if "/image/" in name or "/jpeg/" in name or "dictionary" in name]
    assert len(promised) == 5
    for name in promised:
        assert written[name] == published[name], name
    ours, theirs = Manifest.load(tmp_path / "demo"), Manifest.load(VECTORS / "demo")
    assert (ours.shards, ours.fingerprint, ours.attributes) == (
        theirs.shards,
        "git:1a2b3c",
        theirs.attributes,
    )


def test_the_example_of_the_specification_has_the_published_values(tmp_path):
    demo(tmp_path / "demo")
    for ours, theirs in zip(reference.read(tmp_path / "demo"), reference.read(VECTORS / "demo"), strict=True):
        np.testing.assert_equal(ours, theirs)
    assert validate(tmp_path / "demo") == []


def test_the_empty_example_is_equal_to_the_last_byte(tmp_path):
    with CacheWriter(tmp_path / "empty", {"x": Dense("uint8")}):
        pass
    assert files_of(tmp_path / "empty") == files_of(VECTORS / "empty")


def test_equal_samples_give_equal_bytes(tmp_path):
    demo(tmp_path / "a" / "demo")
    demo(tmp_path / "b" / "demo")
    assert files_of(tmp_path / "a" / "demo") == files_of(tmp_path / "b" / "demo")


@pytest.mark.parametrize("codec", ["raw", "zstd"])
@pytest.mark.parametrize("name", list(ITEMSIZE))
def test_every_dtype_keeps_every_bit_in_every_shape(tmp_path, name, codec):
    dtype = numpy_dtype(name)
    bits = np.random.default_rng(7).integers(0, 2 if name == "bool" else 256, 24 * dtype.itemsize, np.uint8)
    values = bits.view(dtype)
    fields = {
        "scalar": Dense(name, codec=codec),
        "dense": Dense(name, (2, 3, 4), codec=codec),
        "none": Dense(name, (3, 0), codec=codec),
        "ragged": Ragged(name, 2, codec=codec),
    }
    samples = [
        {"scalar": values[0], "dense": values.reshape(2, 3, 4), "none": values[:0].reshape(3, 0), "ragged": r}
        for r in (
            values.reshape(4, 6),
            values[:1].reshape(1, 1),
            values[:0].reshape(0, 5),
            values.reshape(24, 1),
        )
    ]
    with CacheWriter(tmp_path / "x", fields) as writer:
        for sample in samples:
            writer.append(sample)
    for found, given in zip(reference.read(tmp_path / "x"), samples, strict=True):
        for field, value in given.items():
            assert found[field].dtype == dtype
            assert found[field].shape == value.shape
            assert found[field].tobytes() == value.tobytes(), field
    assert validate(tmp_path / "x") == []


def test_arrays_of_any_strides_are_stored_in_c_order(tmp_path):
    base = np.arange(24, dtype=np.int16).reshape(4, 6)
    views = [base.T, base[::2, ::-3], np.asfortranarray(base), base[1:1], np.broadcast_to(base[0], (3, 6))]
    with CacheWriter(tmp_path / "x", {"a": Ragged("int16", 2)}) as writer:
        for view in views:
            writer.append({"a": view})
    for found, view in zip(reference.read(tmp_path / "x"), views, strict=True):
        np.testing.assert_array_equal(found["a"], view, strict=True)


def test_whatever_has_the_buffer_protocol_is_an_array(tmp_path):
    values = [array.array("i", [1, 2]), memoryview(np.arange(6, dtype=np.int32))[::2]]
    with CacheWriter(tmp_path / "x", {"a": Ragged("int32", 1), "b": Bytes()}) as writer:
        for value in values:
            writer.append({"a": value, "b": bytearray(b"xy")})
        writer.append({"a": np.zeros(1, np.int32), "b": np.frombuffer(b"jpeg", np.uint8)})
        writer.append({"a": np.zeros(1, np.int32), "b": memoryview(b"")})
    samples = reference.read(tmp_path / "x")
    assert [s["a"].tolist() for s in samples] == [[1, 2], [0, 2, 4], [0], [0]]
    assert [s["b"] for s in samples] == [b"xy", b"xy", b"jpeg", b""]


def test_a_field_without_axes_takes_numbers_that_its_dtype_holds(tmp_path):
    fields = {
        "flag": Dense("bool"),
        "small": Dense("int8"),
        "big": Dense("uint64"),
        "single": Dense("float32"),
        "double": Dense("float64"),
        "half": Dense("float16"),
        "brain": Dense("bfloat16"),
    }
    half, brain = np.float16(0.1), ml_dtypes.bfloat16(0.1)
    given = [
        {"flag": True, "small": -128, "big": 2**64 - 1, "single": 0.5, "double": 0.1},
        {
            "flag": np.bool_(0),
            "small": np.int64(5),
            "big": np.uint8(3),
            "single": 1,
            "double": np.float16(0.1),
        },
        {"flag": np.array(True), "small": np.int8(1), "big": 0, "single": np.float32(0.1), "double": 2**53},
    ]
    with CacheWriter(tmp_path / "x", fields) as writer:
        for sample in given:
            writer.append({**sample, "half": half, "brain": brain})
    for found, sample in zip(reference.read(tmp_path / "x"), given, strict=True):
        assert {name: found[name] == value for name, value in sample.items()} == dict.fromkeys(sample, True)
        assert (found["half"], found["brain"]) == (half, brain)


def test_the_bits_of_a_nan_are_kept(tmp_path):
    odd = np.array([0x7FF8_0000_0000_1234], np.uint64).view(np.float64)
    signalling = np.array([0x7F80_0001], np.uint32).view(np.float32)
    with CacheWriter(
        tmp_path / "x", {"d": Dense("float64"), "s": Dense("float32")}, {"m": "float64"}
    ) as writer:
        writer.append({"d": odd[0], "s": signalling[0], "m": odd[0]})
    (found,) = reference.read(tmp_path / "x")
    assert found["d"].tobytes() == odd.tobytes()
    assert found["s"].tobytes() == signalling.tobytes()


def test_every_metadata_type_comes_back_with_its_nulls(tmp_path):
    utc = datetime.UTC
    columns = {
        "flag": ([True, None, np.bool_(False)], "bool"),
        "i": ([-(2**63), None, 2**63 - 1], "int64"),
        "u": ([0, None, 2**64 - 1], "uint64"),
        "f": ([0.5, None, float("inf")], "float32"),
        "g": ([0.1, None, 7], "float64"),
        "s": (["", None, "größer als zwölf Bytes\0"], "string"),
        "b": ([b"", None, bytearray(b"\xff" * 20)], "binary"),
        "d": ([datetime.date(1, 1, 1), None, np.datetime64("2024-02-29")], "date"),
        "t": (
            [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), None, np.datetime64("2000", "s")],
            "timestamp[us]",
        ),
        "z": (
            [datetime.datetime(2024, 1, 1, tzinfo=utc), None, np.datetime64("NaT", "us")],
            "timestamp[ns, UTC]",
        ),
        "l": ([datetime.timedelta(days=-1), None, np.timedelta64(3, "h")], "duration[ms]"),
    }
    with CacheWriter(
        tmp_path / "x", {"x": Dense("bool")}, {n: kind for n, (_, kind) in columns.items()}
    ) as writer:
        for row in range(3):
            writer.append({"x": True} | {name: values[row] for name, (values, _) in columns.items()})
    found = reference.read(tmp_path / "x")
    for name, (values, _) in columns.items():
        if name not in "dtzl":
            assert [sample[name] for sample in found] == values, name
    assert [s["d"] for s in found] == [np.datetime64("0001-01-01"), None, np.datetime64("2024-02-29")]
    assert [s["t"] for s in found] == [
        np.datetime64("1969-12-31T23:59:59.999999"),
        None,
        np.datetime64("2000-01-01"),
    ]
    assert [s["z"] for s in found] == [np.datetime64("2024-01-01"), None, None]
    assert [s["l"] for s in found] == [
        np.timedelta64(-86_400_000, "ms"),
        None,
        np.timedelta64(10_800_000, "ms"),
    ]
    assert validate(tmp_path / "x") == []


def test_shards_are_closed_by_count_and_by_stored_bytes(tmp_path):
    with CacheWriter(tmp_path / "n", {"x": Bytes()}, samples_per_shard=2) as writer:
        for _ in range(5):
            writer.append({"x": b"abc"})
    with CacheWriter(tmp_path / "b", {"x": Bytes()}, shard_bytes=100) as writer:
        for _ in range(5):
            writer.append({"x": b"a" * 60})
    assert Manifest.load(tmp_path / "n").shards == (2, 2, 1)
    assert Manifest.load(tmp_path / "b").shards == (2, 2, 1)


def test_count_counts_accepted_samples_only(tmp_path):
    with CacheWriter(tmp_path / "x", {"x": Dense("int8")}) as writer:
        writer.append({"x": 1})
        with pytest.raises(SchemaError):
            writer.append({"x": 1000})
        assert writer.count == 1
        writer.append({"x": 2})
    assert [s["x"] for s in reference.read(tmp_path / "x")] == [1, 2]
    assert repr(writer) == f"<CacheWriter {tmp_path / 'x'}: 2 samples, closed>"


def test_attributes_and_fingerprint_are_kept(tmp_path):
    attributes = {"n": None, "b": [True, 1, -(2**63 - 1), 0.1, 1e300, -0.0], "s": 'ü"\\\n', "d": {"k": {}}}
    with CacheWriter(tmp_path / "x", {"x": Dense("int8")}, attributes=attributes, fingerprint="é"):
        pass
    manifest = Manifest.load(tmp_path / "x")
    assert json.dumps(manifest.attributes, sort_keys=True) == json.dumps(attributes, sort_keys=True)
    assert manifest.fingerprint == "é"


def test_nobody_may_write_to_the_files_of_a_cache(tmp_path):
    demo(tmp_path / "demo")
    assert all(p.stat().st_mode & 0o222 == 0 for p in (tmp_path / "demo").rglob("*") if p.is_file())


def test_a_writer_is_neither_pickled_nor_copied(tmp_path):
    with CacheWriter(tmp_path / "c", {"x": Dense("int8")}) as writer:
        for make in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="belongs to the process"):
                make(writer)
