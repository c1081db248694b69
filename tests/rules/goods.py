"""Good caches, small enough to read whole, that the cases break."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .arrow_columns import TYPES, Column
from .arrow_file import ArrowFile
from .forge import ITEMSIZES, Cache, Field, Record, Shard
from .frames import compress

TEXTS = ["", "zwölf Boxkämpfer", "naïve \0 text", "日本語のテキスト、少し長い", "plain"]
DICTIONARY = bytes(range(64)) + b"the quick brown fox jumps over the lazy dog"


def encode(item: Field, content: bytes, shape: tuple[int, ...]) -> Record:
    """Bytes of a value in C order -> delta -> codec."""
    if item.delta is not None:
        values = np.frombuffer(content, np.uint8)
        changed = values.copy()
        changed[item.delta :] = values[item.delta :] - values[: -item.delta]
        content = changed.tobytes()
    axes = () if item.kind == "dense" else shape
    if item.codec == "raw":
        return Record(content, axes)
    return Record(compress(content, item.dictionary), axes)


def fill(item: Field, values: list[Any], counts: list[int]) -> Field:
    """Gives a field its records: arrays (dense, ragged; any dtype of that itemsize), bytes or text."""
    records = []
    for value in values:
        if isinstance(value, np.ndarray):
            if value.dtype.itemsize != ITEMSIZES[item.dtype]:
                raise AssertionError(f"{item.name}: {value.dtype} is not {item.dtype}")
            records.append(encode(item, value.tobytes(), value.shape))
        else:
            content = value.encode() if isinstance(value, str) else value
            records.append(encode(item, content, (len(content),)))
    item.values = values
    item.shards = []
    for count in counts:
        item.shards.append(Shard(records[:count]))
        records = records[count:]
    return item


def ramp(dtype: str, shape: tuple[int, ...], start: int) -> np.ndarray[Any, Any]:
    """Values that count up from `start`."""
    return (np.arange(int(np.prod(shape, dtype=np.int64))) * 7 + start).astype(dtype).reshape(shape)


def main(counts: tuple[int, ...] = (3, 2)) -> Cache:
    """Every kind with every codec; five samples in two shards; every metadata type."""
    samples = sum(counts)
    fields = [
        (Field("dense", "dense", "uint16", shape=(2, 3)), lambda i: ramp("<u2", (2, 3), 1000 * i)),
        (Field("void", "dense", "float32", shape=(0, 2)), lambda i: np.zeros((0, 2), "<f4")),
        (Field("half", "dense", "bfloat16"), lambda i: np.array(0x3F80 + i, "<u2")),
        (Field("feat", "dense", "float32", "zstd", shape=(4,)), lambda i: ramp("<f4", (4,), i)),
        (Field("label", "dense", "int64", "zstd-dict", dictionary=DICTIONARY), lambda i: np.array(-i, "<i8")),
        (Field("rag", "ragged", "int16"), lambda i: ramp("<i2", (i,), i)),
        (Field("grid", "ragged", "uint8", "zstd", ndim=2, delta=3), lambda i: ramp("u1", (i, 5), i)),
        (
            Field("tokens", "ragged", "int32", "zstd-dict", dictionary=DICTIONARY),
            lambda i: ramp("<i4", (i + 4,), i),
        ),
        (Field("jpeg", "bytes", "uint8"), lambda i: bytes(range(7 * i))),
        (Field("blob", "bytes", "uint8", "zstd"), lambda i: b"ab" * 3 * i),
        (Field("title", "text", "uint8"), lambda i: TEXTS[(i + 3) % 5]),
        (Field("caption", "text", "uint8", "zstd"), lambda i: TEXTS[i]),
    ]
    filled = [fill(item, [value(i) for i in range(samples)], list(counts)) for item, value in fields]
    cache = Cache(fields=filled, counts=list(counts), attributes={"mean": [0.485, 1], "note": "größe"})
    return with_metadata(cache, table(samples))


def with_metadata(cache: Cache, file: ArrowFile) -> Cache:
    """Gives a cache the metadata that the model builds."""
    cache.metadata = file.build()
    cache.columns = {column.name: list(column.values) for column in file.columns}
    cache.types = {column.name: column.type for column in file.columns}
    return cache


def table(rows: int) -> ArrowFile:
    """One column of each type, named after it, with a null in row 1; `plain` and `weight` without."""
    strings = ["short", None, "a string longer than twelve", "", "éèê and another long one"]
    cells: dict[str, list[Any]] = {
        "utf8_view": strings,
        "binary_view": [None if text is None else text.encode() for text in strings],
        "bool": [True, None, False, True, True],
    }
    columns = []
    for name, kind in TYPES.items():
        numbers = [i + 0.5 if kind.storage in ("<f4", "<f8") else i + 3 for i in range(rows)]
        values = cells.get(name, [*numbers[:1], None, *numbers[2:]])[:rows]
        columns.append(Column(name, kind, values))
    columns.append(Column("plain", TYPES["int32"], list(range(rows))))
    columns.append(Column("weight", TYPES["float64"], [0.0, 1.5, 2.0, 1e300, 5e-324][:rows]))
    return ArrowFile(columns, rows)


def empty() -> Cache:
    """No samples, no shards, no metadata."""
    return Cache(name="empty", fields=[Field("x", "dense", "uint8")])


TALL = 262_144 + 2


def tall(file: ArrowFile) -> Cache:
    """An empty record for each of 262,146 samples, so that metadata needs two batches."""
    shard = Shard([Record(b"")] * TALL)
    item = Field("x", "dense", "uint8", shape=(0,), shards=[shard], values=[np.zeros(0, np.uint8)] * TALL)
    return with_metadata(Cache(name="tall", fields=[item], counts=[TALL]), file)


@functools.cache
def tall_numbers() -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.arange(TALL, dtype=np.int64) * 3


def tall_table() -> ArrowFile:
    """Three columns of 8 bytes: two batches and two chunks of 4 MiB."""
    numbers = tall_numbers()
    names = ("a", "b", "c")
    return ArrowFile(
        [Column(name, TYPES["int64"], numbers + place) for place, name in enumerate(names)], TALL
    )
