"""CacheWriter against the plain writer of dsrt_format, on any schema and any records."""

import datetime
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dsrt_format import Bytes, Dense, Ragged, Text, Zstd, reference
from dsrt_format.dtypes import ITEMSIZE, numpy_dtype
from dsrt_format.validate import validate
from dsrt_native import CacheWriter

CODECS = st.sampled_from(["raw", "zstd", Zstd(1), Zstd(dictionary=b"a dictionary")])
AXES = st.integers(0, 4)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": st.integers(-128, 127),
    "uint64": st.integers(0, 2**64 - 1),
    "float32": st.floats(width=32),
    "float64": st.floats(),
    "string": st.text(max_size=30),
    "binary": st.binary(max_size=30),
    "date": st.dates(),
    "timestamp[us]": st.datetimes(),
    "timestamp[us, UTC]": st.datetimes(timezones=st.just(datetime.UTC)),
    "duration[us]": st.timedeltas(datetime.timedelta(-(10**8)), datetime.timedelta(10**8)),
}


@st.composite
def fields(draw: st.DrawFn) -> Any:
    codec = draw(CODECS)
    kind = draw(st.sampled_from([Dense, Ragged, Bytes, Text]))
    if kind in (Bytes, Text):
        return kind(codec=codec)
    dtype = draw(st.sampled_from(list(ITEMSIZE)))
    delta = draw(st.integers(0, 5)) if dtype == "uint8" and codec != "raw" else 0
    if kind is Dense:
        return Dense(dtype, tuple(draw(st.lists(AXES, max_size=3))), codec=codec, delta=delta)
    return Ragged(dtype, draw(st.integers(1, 3)), codec=codec, delta=delta)


@st.composite
def records(draw: st.DrawFn, field: Any) -> Any:
    if isinstance(field, Bytes):
        return draw(st.binary(max_size=50))
    if isinstance(field, Text):
        return draw(st.text(max_size=30))
    shape = field.shape if isinstance(field, Dense) else [draw(AXES) for _ in range(field.ndim)]
    dtype = numpy_dtype(field.dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = draw(st.binary(min_size=size, max_size=size))
    if field.dtype == "bool":
        raw = bytes(byte & 1 for byte in raw)
    return np.frombuffer(raw, dtype).reshape(shape)


@st.composite
def caches(draw: st.DrawFn) -> Any:
    schema = {f"f{i}": draw(fields()) for i in range(draw(st.integers(1, 4)))}
    columns = {
        f"c{i}": kind for i, kind in enumerate(draw(st.lists(st.sampled_from(list(VALUES)), max_size=4)))
    }
    samples = [
        {name: draw(records(field)) for name, field in schema.items()}
        | {name: draw(st.none() | VALUES[kind]) for name, kind in columns.items()}
        for _ in range(draw(st.integers(0, 6)))
    ]
    return schema, columns, samples


@settings(max_examples=120, deadline=None)
@given(caches())
def test_native_equals_reference(cache):
    schema, columns, samples = cache
    with tempfile.TemporaryDirectory() as directory:
        ours, theirs = Path(directory, "ours", "x"), Path(directory, "theirs", "x")
        with CacheWriter(ours, schema, columns) as writer:
            for sample in samples:
                writer.append(sample)
        theirs.parent.mkdir()
        reference.write(theirs, schema, samples, columns)
        assert validate(ours) == []
        for a, b in zip(reference.read(ours), reference.read(theirs), strict=True):
            assert a.keys() == b.keys()
            for name in a:
                assert same(a[name], b[name]), name
        for name, field in schema.items():
            if field.codec == "raw":
                for file in (theirs / "fields" / name).glob("*"):
                    assert (ours / "fields" / name / file.name).read_bytes() == file.read_bytes()
        if not columns and all(field.codec == "raw" for field in schema.values()):
            assert (ours / "manifest.json").read_bytes() == (theirs / "manifest.json").read_bytes()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray | np.generic):
        return type(a) is type(b) and (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    return type(a) is type(b) and (a == b or (a != a and b != b))
