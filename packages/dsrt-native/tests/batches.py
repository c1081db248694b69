"""Samples of every kind of field and column: for append, for append_batch, and as a table."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dsrt_format import Bytes, Dense, Ragged, Text
from dsrt_native import CacheWriter

from .directories import files_of

FIELDS = {
    "image": Dense("uint8", (2, 3, 3), codec="zstd", delta=3),
    "scalar": Dense("int16"),
    "tokens": Ragged("int32", codec="zstd"),
    "boxes": Ragged("float64", 2),
    "data": Bytes(),
    "text": Text(codec="zstd"),
}
COLUMNS = {
    "label": "int8",
    "big": "uint64",
    "score": "float32",
    "good": "bool",
    "name": "string",
    "raw": "binary",
    "day": "date",
    "at": "timestamp[us]",
    "seen": "timestamp[ms, UTC]",
    "took": "duration[ns]",
    "weight": "float64",
}
N = 7


def batch(n: int = N) -> dict[str, Any]:
    """Values of which each is one for each sample, as NumPy and lists have them."""
    random = np.random.default_rng(n)
    return {
        "image": random.integers(0, 256, (n, 2, 3, 3), np.uint8),
        "scalar": random.integers(-9, 9, n, np.int16),
        "tokens": [random.integers(0, 99, i, np.int32) for i in range(n)],
        "boxes": [random.standard_normal((i, i + 1)) for i in range(n)],
        "data": [random.bytes(i) for i in range(n)],
        "text": ["größe\0"[: i % 7] for i in range(n)],
        "label": np.arange(n, dtype=np.int8),
        "big": np.uint64(2**64 - 1) - np.arange(n, dtype=np.uint64),
        "score": [None if i == 2 else i / 4 for i in range(n)],
        "good": random.random(n) < 0.5,
        "name": [None if i == 1 else f"name {i} of more than twelve bytes" for i in range(n)],
        "raw": [None if i == 3 else bytes([0, i, 0]) for i in range(n)],
        "day": [None if i == 0 else datetime.date(1969, 12, 29) + datetime.timedelta(i) for i in range(n)],
        "at": np.arange(-3, n - 3).astype("M8[ms]"),
        "seen": [
            datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC) + i * datetime.timedelta(1) for i in range(n)
        ],
        "took": np.arange(n).astype("m8[s]"),
        "weight": random.random(n),
    }


def one_by_one(path: Path, fields: Any, metadata: Any, columns: dict[str, Any]) -> dict[str, bytes]:
    count = len(next(iter(columns.values())))
    with CacheWriter(path / "one" / "x", fields, metadata, samples_per_shard=4) as writer:
        for i in range(count):
            writer.append({name: values[i] for name, values in columns.items()})
    return files_of(path / "one" / "x")


def at_once(path: Path, fields: Any, metadata: Any, *batches: Any) -> dict[str, bytes]:
    with CacheWriter(path / "many" / "x", fields, metadata, samples_per_shard=4) as writer:
        for columns in batches:
            writer.append_batch(columns)
    return files_of(path / "many" / "x")


ARROW: dict[str, pa.DataType] = {
    "image": pa.list_(pa.list_(pa.list_(pa.uint8(), 3), 3), 2),
    "scalar": pa.int16(),
    "tokens": pa.list_(pa.int32()),
    "boxes": pa.list_(pa.list_(pa.float64(), 4)),
    "data": pa.binary(),
    "text": pa.string(),
    "label": pa.int64(),
    "big": pa.uint64(),
    "score": pa.float32(),
    "good": pa.bool_(),
    "name": pa.string_view(),
    "raw": pa.binary_view(),
    "day": pa.date32(),
    "at": pa.timestamp("ms"),
    "seen": pa.timestamp("us", "Europe/Berlin"),
    "took": pa.duration("s"),
    "weight": pa.float64(),
}
OTHER = {
    "tokens": pa.large_list(pa.int32()),
    "data": pa.large_binary(),
    "text": pa.large_string(),
    "name": pa.dictionary(pa.int8(), pa.string()),
    "score": pa.float64(),
    "day": pa.date64(),
    "at": pa.timestamp("s"),
    "took": pa.duration("ns"),
    "label": pa.int8(),
}


def table(types: dict[str, pa.DataType]) -> tuple[dict[str, Any], pa.Table]:
    """The samples for `append`, and the same as a table."""
    columns = batch() | {
        "boxes": [np.arange(4.0 * i).reshape(i, 4) for i in range(N)],
        "at": np.arange(N).astype("M8[s]"),
    }
    arrays = {}
    for name, values in columns.items():
        if name in ("image", "tokens", "boxes"):
            arrays[name] = pa.array([value.tolist() for value in values], types[name])
        else:
            arrays[name] = pa.array(values).cast(types[name])
    return columns, pa.table(arrays)
