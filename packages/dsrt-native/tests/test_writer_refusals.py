"""What CacheWriter refuses: each with an error that names field and sample, and nothing left behind."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dsrt_format import Bytes, CacheExistsError, Dense, Ragged, SchemaError, Text, Zstd, reference
from dsrt_native import CacheWriter

FIELDS = {
    "dense": Dense("float32", (2, 3)),
    "ragged": Ragged("int64", 2, codec="zstd"),
    "scalar": Dense("int16"),
    "flags": Ragged("bool"),
    "brain": Ragged("bfloat16"),
    "data": Bytes(),
    "text": Text(codec="zstd"),
}
COLUMNS = {
    "label": "int8",
    "score": "float32",
    "name": "string",
    "raw": "binary",
    "day": "date",
    "at": "timestamp[us]",
    "seen": "timestamp[ms, UTC]",
    "took": "duration[ms]",
    "weight": "float64",
}
GOOD: dict[str, Any] = {
    "dense": np.ones((2, 3), np.float32),
    "ragged": np.ones((1, 2), np.int64),
    "scalar": 3,
    "flags": np.array([True, False]),
    "brain": np.ones(2, ml_dtypes.bfloat16),
    "data": b"xyz",
    "text": "xyz",
    "label": 1,
    "score": 0.5,
    "name": "n",
    "raw": b"r",
    "day": datetime.date(2024, 1, 1),
    "at": datetime.datetime(2024, 1, 1),
    "seen": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    "took": datetime.timedelta(seconds=1),
    "weight": 1.0,
}

BAD = [
    ("dense", np.ones((2, 3)), "float64.*astype"),
    ("dense", np.ones((2, 3), ">f4"), "big-endian.*astype"),
    ("dense", np.ma.ones((2, 3), np.float32), "masked.*filled"),
    ("dense", np.ones((2, 3), object), "Python objects"),
    ("dense", np.ones((3, 2), np.float32), r"shape is \[3, 2\].*\[2, 3\]"),
    ("dense", np.ones(6, np.float32), "shape"),
    ("dense", np.float32(1), "shape"),
    ("dense", [[1.0] * 3] * 2, r"list.*numpy.asarray\(value, 'float32'\)"),
    ("dense", None, "None"),
    ("dense", "text", "str"),
    ("dense", np.zeros((2, 3), [("x", "f4")]), "dtype"),
    ("ragged", np.ones(2, np.int64), "1 axes.*2"),
    ("ragged", np.ones((1, 2), np.uint64), "uint64"),
    ("scalar", 2**15, "-32768 to 32767"),
    ("scalar", 10**60, "out of range"),
    ("scalar", 1.0, "float"),
    ("scalar", True, "bool"),
    ("scalar", "1", "str"),
    ("scalar", np.float32(1), "float"),
    ("scalar", np.uint16(40000), "out of range"),
    ("scalar", np.array(3), "int64"),
    ("scalar", np.array([3], np.int16), "shape"),
    ("flags", np.array([0, 2], np.uint8).view(bool), "0 or 1"),
    ("flags", np.array([0, 1], np.uint8), "uint8"),
    ("brain", np.ones(2, np.uint16), "uint16"),
    ("brain", np.ones(2, np.float32), "float32"),
    ("data", "xyz", "encode"),
    ("data", np.zeros((2, 2), np.uint8), "tobytes"),
    ("data", np.zeros(2, np.int8), "tobytes"),
    ("data", np.zeros(4, np.uint8)[::2], "tobytes"),
    ("data", np.ma.zeros(2, np.uint8), "masked"),
    ("text", b"xyz", "decode"),
    ("text", "\ud800", "surrogate"),
    ("text", None, "None"),
    ("label", 128, "-128 to 127"),
    ("label", 1.0, "float"),
    ("label", True, "bool"),
    ("label", "1", "str"),
    ("label", np.array(1), "one number"),
    ("label", np.int16(-129), "out of range"),
    ("score", 0.1, "numpy.float32"),
    ("score", 2**24 + 1, "float32"),
    ("score", 1j, "complex"),
    ("name", b"n", "decode"),
    ("name", 1, "str"),
    ("name", "\udfff", "surrogate"),
    ("raw", "r", "encode"),
    ("day", datetime.datetime(2024, 1, 1), "datetime.date"),
    ("day", np.datetime64("2024-01-01T01"), "whole number"),
    ("day", 19000, "datetime.date"),
    ("at", datetime.date(2024, 1, 1), "datetime.datetime"),
    ("at", datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), "UTC"),
    ("at", np.datetime64("2024-01-01T00:00:00.0000001"), "whole number"),
    ("at", np.datetime64("2024"), "differ in length"),
    ("at", 0, "datetime"),
    ("seen", datetime.datetime(2024, 1, 1), "no zone"),
    ("took", datetime.timedelta(microseconds=1), "whole number"),
    ("took", np.timedelta64(1, "M"), "differ in length"),
    ("took", np.datetime64("2024-01-01"), "timedelta"),
    ("weight", None, "weight"),
    ("weight", float("nan"), "NaN"),
    ("weight", float("inf"), "inf"),
    ("weight", -0.5, "-0.5"),
    ("weight", -1, "-1"),
]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[CacheWriter]:
    """A writer that holds one good sample, and holds just two in the end."""
    with CacheWriter(tmp_path / "x", FIELDS, COLUMNS) as writer:
        writer.append(GOOD)
        yield writer
        assert writer.count == 1
        writer.append(GOOD)
    first, second = reference.read(tmp_path / "x")
    np.testing.assert_equal(first, second)


@pytest.mark.parametrize(("name", "value", "said"), BAD, ids=lambda value: repr(value)[:40])
def test_a_value_that_does_not_fit_is_refused_by_name_and_the_writer_goes_on(writer, name, value, said):
    with pytest.raises(SchemaError, match=rf"(?s)^field {name}, sample 1: .*{said}"):
        writer.append({**GOOD, name: value})


@pytest.mark.parametrize("name", ["dense", "text", "label", "at"])
def test_a_missing_value_is_refused(writer, name):
    with pytest.raises(SchemaError, match=f"field {name}, sample 1: the sample has no value"):
        writer.append({key: value for key, value in GOOD.items() if key != name})


def test_an_unknown_name_is_refused(writer):
    with pytest.raises(SchemaError, match=r"sample 1: the sample has lable, 7.*there are dense, .*label"):
        writer.append({**GOOD, "lable": 1, 7: 2})


@pytest.mark.parametrize("sample", [None, [1], "dense", list(GOOD.items())])
def test_a_sample_is_a_dict(writer, sample):
    with pytest.raises(TypeError, match="a sample is a dict"):
        writer.append(sample)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"fields": {}}, SchemaError, "0 fields"),
        ({"fields": {f"f{i}": Bytes() for i in range(257)}}, SchemaError, "257 fields"),
        ({"fields": {"x": "uint8"}}, TypeError, "Dense, Ragged"),
        ({"fields": ["x"]}, TypeError, "fields: expected a mapping of names to specs, not list"),
        ({"metadata": ["label"]}, TypeError, "metadata: expected a mapping of names to types, not list"),
        ({"fields": {"_x": Bytes()}}, SchemaError, "reserved"),
        ({"fields": {"weight": Bytes()}}, SchemaError, "weight"),
        ({"fields": {"a/b": Bytes()}}, SchemaError, "cannot be the name"),
        ({"fields": {"x": Bytes(), "X": Bytes()}}, SchemaError, "case"),
        (
            {"fields": {"x": Bytes(codec=Zstd(dictionary=b"\x37\xa4\x30\xecnonsense"))}},
            SchemaError,
            "damaged",
        ),
        ({"metadata": {"x": "int8"}}, SchemaError, "payload field"),
        ({"metadata": {"cache_id": "int8"}}, SchemaError, "cache_id"),
        ({"metadata": {"\ud800": "int8"}}, SchemaError, "surrogate"),
        ({"metadata": {"a": "float16"}}, SchemaError, "float16.*the types are"),
        ({"metadata": {"a": "decimal"}}, SchemaError, "decimal"),
        ({"metadata": {"a": "timestamp[s]"}}, SchemaError, "timestamp"),
        ({"metadata": {"a": int}}, TypeError, "expected a str"),
        ({"metadata": {"weight": "float32"}}, SchemaError, "float64"),
        ({"fingerprint": 5}, TypeError, "fingerprint"),
        ({"fingerprint": "\ud800"}, SchemaError, "surrogate"),
        ({"attributes": {"x": float("nan")}}, SchemaError, r"attributes\['x'\].*nan"),
        ({"samples_per_shard": 0}, ValueError, "samples_per_shard"),
        ({"samples_per_shard": 2**20 + 1}, ValueError, "1048576"),
        ({"samples_per_shard": 1.5}, TypeError, "samples_per_shard"),
        ({"shard_bytes": 0}, ValueError, "shard_bytes"),
        ({"path": "a.b"}, SchemaError, "name of a cache"),
        ({"path": "con"}, SchemaError, "Windows"),
        ({"path": ".."}, SchemaError, "name of a cache"),
    ],
)
def test_a_cache_that_cannot_be_is_refused_before_anything_is_made(tmp_path, arguments, error, said):
    path = tmp_path / arguments.pop("path", "x")
    with pytest.raises(error, match=f"(?s){said}"):
        CacheWriter(path, **({"fields": {"x": Dense("uint8")}} | arguments))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_a_target_that_is_no_cache_is_refused_and_left_alone(tmp_path, make, replace):
    make(tmp_path / "x")
    with pytest.raises(CacheExistsError) as caught:
        CacheWriter(tmp_path / "x", {"x": Dense("uint8")}, replace=replace)
    assert isinstance(caught.value, FileExistsError)
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_parent_that_is_no_directory_is_an_os_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file"):
        CacheWriter(tmp_path / "file" / "x", {"x": Dense("uint8")})


def test_an_object_that_could_become_an_array_is_not_asked_to(tmp_path):
    class Lazy:
        def __array__(self, *_: object, **__: object) -> np.ndarray[Any, Any]:
            raise AssertionError("nobody asked")

    with (
        CacheWriter(tmp_path / "x", {"x": Dense("uint8", (1,))}) as writer,
        pytest.raises(SchemaError, match="Lazy"),
    ):
        writer.append({"x": Lazy()})
