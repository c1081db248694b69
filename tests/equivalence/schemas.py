"""Strategies: any schema, and samples that fit it."""

import datetime
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from dsrt_format import Bytes, Dense, Ragged, Text, Zstd

DTYPES = {
    **{name: np.dtype(name) for name in ("bool", "int8", "int16", "int32", "int64")},
    **{name: np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")},
    **{name: np.dtype(name) for name in ("float16", "float32", "float64", "complex64", "complex128")},
    **{name: np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")},
}
AXIS = st.sampled_from([0, 1, 1, 2, 3, 5])
CODECS = st.sampled_from(
    ["raw", "zstd", Zstd(1), Zstd(3, dictionary=b"a dictionary of raw content, shared by the records")]
)


@st.composite
def fields(draw) -> Any:
    """One field spec of any kind, dtype, shape, codec and delta."""
    codec = draw(CODECS)
    kind = draw(st.sampled_from(["dense", "ragged", "bytes", "text"]))
    if kind == "bytes":
        return Bytes(codec=codec)
    if kind == "text":
        return Text(codec=codec)
    dtype = draw(st.sampled_from(sorted(DTYPES)))
    delta = draw(st.sampled_from([0, 1, 3, 255])) if dtype == "uint8" and codec != "raw" else 0
    if kind == "dense":
        return Dense(dtype, tuple(draw(st.lists(AXIS, max_size=3))), codec=codec, delta=delta)
    return Ragged(dtype, ndim=draw(st.integers(1, 3)), codec=codec, delta=delta)


def bits(draw, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array of any bit patterns, NaN payloads among them; a bool holds 0 or 1."""
    kind = DTYPES[dtype]
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    raw = draw(st.binary(min_size=size, max_size=size))
    array = np.frombuffer(bytearray(raw), np.uint8).copy()
    if dtype == "bool":
        array &= 1
    return array.view(kind).reshape(shape)


def value(draw, spec: Any) -> Any:
    """A value for one record of the field."""
    if isinstance(spec, Bytes):
        return draw(st.binary(max_size=40))
    if isinstance(spec, Text):
        return draw(st.text(max_size=20))
    if isinstance(spec, Dense):
        return bits(draw, spec.dtype, spec.shape)
    return bits(draw, spec.dtype, tuple(draw(AXIS) for _ in range(spec.ndim)))


INTS = {f"{sign}int{size}": (size, sign) for size in (8, 16, 32, 64) for sign in ("", "u")}


def metadata_values(kind: str) -> st.SearchStrategy[Any]:
    """Values of a metadata type that a microsecond clock can hold, extremes among them."""
    if kind in INTS:
        size, sign = INTS[kind]
        low, high = (0, 2**size - 1) if sign else (-(2 ** (size - 1)), 2 ** (size - 1) - 1)
        return st.integers(low, high) | st.sampled_from([low, high])
    if kind.startswith("timestamp"):
        zone = st.just(datetime.UTC) if "UTC" in kind else st.none()
        whole = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1), timezones=zone)
        return (
            whole.map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))
            if "ms" in kind
            else whole
        )
    if kind.startswith("duration"):
        unit = "milliseconds" if "ms" in kind else "microseconds"
        return st.integers(-(10**12), 10**12).map(lambda n: datetime.timedelta(**{unit: n}))
    return {
        "bool": st.booleans(),
        "float32": st.floats(width=32),
        "float64": st.floats(),
        "string": st.text(max_size=20),
        "binary": st.binary(max_size=20),
        "date": st.dates(),
    }[kind]


KINDS = [*INTS, "bool", "float32", "float64", "string", "binary", "date"]
KINDS += [f"timestamp[{unit}{zone}]" for unit in ("ms", "us", "ns") for zone in ("", ", UTC")]
KINDS += [f"duration[{unit}]" for unit in ("ms", "us", "ns")]


@st.composite
def datasets(draw, *, max_samples: int = 12) -> Any:
    """Return (fields, metadata types, samples) that go together."""
    names = st.lists(
        st.sampled_from(["a", "b", "Tokens", "image-2", "_x"[1:], "9"]), min_size=1, max_size=3, unique=True
    )
    specs = {name: draw(fields()) for name in draw(names)}
    columns = {f"m{i}": draw(st.sampled_from(KINDS)) for i in range(draw(st.integers(0, 3)))}
    samples = []
    for _ in range(draw(st.integers(0, max_samples))):
        sample = {name: value(draw, spec) for name, spec in specs.items()}
        sample |= {name: draw(st.none() | metadata_values(kind)) for name, kind in columns.items()}
        samples.append(sample)
    return specs, columns, samples


def same(left: Any, right: Any) -> bool:
    """Equal to the last bit: dtype, shape, NaN payloads, signs of zero."""
    if isinstance(left, np.ndarray | np.generic):
        left, right = np.asarray(left), np.asarray(right)
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(left, float) and isinstance(right, float):
        return np.float64(left).tobytes() == np.float64(right).tobytes()
    return type(left) is type(right) and left == right
