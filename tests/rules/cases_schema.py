"""R041, R043 to R046: chunks, rows, batches, schema and weight of metadata.arrow."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from .arrow_columns import (
    BINARY,
    DATE,
    DECIMAL,
    DURATION,
    FIXED_BINARY,
    FLOAT,
    INTERVAL,
    LARGE_BINARY,
    LARGE_UTF8,
    LIST,
    MILLI,
    SECOND,
    STRUCT,
    TIME,
    TIMESTAMP,
    TYPES,
    UTF8,
    UTF8_VIEW,
    Column,
    Type,
)
from .arrow_file import DICTIONARY_BATCH, V4, V5, ArrowFile, Batch, Footer, Schema, field_table, message
from .case import Break, Table, manifest
from .flatbuffer import Table as Flat
from .flatbuffer import i16, i32, i64, u8
from .forge import CHUNK, Cache
from .goods import TALL, main, table, tall, tall_numbers, tall_table, with_metadata

TABLE = Table("metadata")
ROWS = 5


def meta(edit: Callable[[ArrowFile], object], rows: int = ROWS) -> Break:
    """Breaks the metadata of the main cache."""

    def change(cache: Cache) -> None:
        file = table(rows)
        edit(file)
        with_metadata(cache, file)

    return change


def add(rule: str, name: str, edit: Callable[[ArrowFile], object], **where: Any) -> None:
    TABLE.add(rule, name, meta(edit), **where)


def tall_case(edit: Callable[[ArrowFile], object]) -> Callable[[], Cache]:
    def make() -> Cache:
        file = tall_table()
        edit(file)
        return tall(file)

    return make


def nothing(_: Any) -> None:
    """A tall case is broken where it is made: its metadata is built once."""


# R041
def chunk(number: int, digest: str) -> Break:
    return manifest(lambda values: values["metadata"]["chunks"].__setitem__(number, digest))


def damaged(place: Callable[[bytes], int]) -> Break:
    """Flips a bit of the file; the chunk digests stay."""

    def flip(content: bytes) -> bytes:
        at = place(content)
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    def change(cache: Cache) -> None:
        cache.edit_metadata = flip

    return change


TABLE.add("R041", "digest of another chunk", chunk(0, "0" * 64), column="int64")
TABLE.add("R041", "first byte", damaged(lambda content: 0), column="int64")
TABLE.add("R041", "unused byte after the magic", damaged(lambda content: 6), column="int64")
TABLE.add("R041", "a byte in the middle", damaged(lambda content: len(content) // 2), column="int64")
TABLE.add("R041", "last byte", damaged(lambda content: len(content) - 1), column="int64")
TALL_BASE: dict[str, Any] = {"base": lambda: tall(tall_table())}
TABLE.add("R041", "second chunk, its digest", chunk(1, "0" * 64), column="c", **TALL_BASE)
TABLE.add("R041", "second chunk, its first byte", damaged(lambda content: CHUNK), column="c", **TALL_BASE)
TABLE.add("R041", "first chunk, its last byte", damaged(lambda content: CHUNK - 1), **TALL_BASE)
TABLE.add(
    "R041",
    "chunk digests exchanged",
    manifest(lambda values: values["metadata"]["chunks"].reverse()),
    column="c",
    **TALL_BASE,
)

# R043 and R044. What has the wrong number of rows is a good file otherwise.
for rows in (4, 1):
    TABLE.add("R043", f"{rows} rows for 5 samples", meta(nothing, rows), column="int64")


def rows(count: int) -> Callable[[ArrowFile], None]:
    def edit(file: ArrowFile) -> None:
        file.columns = [Column("n", TYPES["int64"], np.arange(count))]
        file.rows = count

    return edit


add("R043", "6 rows for 5 samples", rows(6), column="n")
add("R043", "no rows for 5 samples", rows(0), column="n")


@TABLE.case("R043", "a row for no samples", base=lambda: with_metadata(Cache(fields=main().fields), table(1)))
def _(cache: Cache) -> None:
    for item in cache.fields:
        item.shards = []


@TABLE.case(
    "R043",
    "a row too few in the second batch",
    base=lambda: tall(ArrowFile([Column("n", TYPES["int64"], tall_numbers()[:-1])], TALL - 1)),
    column="n",
)
def _(cache: Cache) -> None:
    pass


def batches(*counts: int) -> Callable[[ArrowFile], None]:
    return lambda file: setattr(file, "batch_rows", list(counts))


add("R044", "two short batches", batches(3, 2), column="int64")
add("R044", "an empty batch after the last", batches(5, 0), column="int64")
add("R044", "an empty batch before the first", batches(0, 5), column="int64")
add("R044", "a batch for each row", batches(1, 1, 1, 1, 1), column="int64")
for name, counts in {
    "one long batch": (TALL,),
    "a short batch first": (2, TALL - 2),
    "first batch one too short": (262_143, 3),
    "first batch one too long": (262_145, 1),
}.items():
    TABLE.add("R044", name, nothing, base=tall_case(batches(*counts)), column="c")


@TABLE.case(
    "R044",
    "an empty batch for no samples",
    base=lambda: with_metadata(
        Cache(fields=[main().field("rag")]), ArrowFile([Column("n", TYPES["int64"], [])], 0, batch_rows=[0])
    ),
)
def _(cache: Cache) -> None:
    cache.fields[0].shards = []


# R045, the first item of section 7.
def batch(edit: Callable[[Batch], object]) -> Callable[[ArrowFile], None]:
    """Edits the only batch once its buffers are laid out."""
    return lambda file: setattr(file, "edit_batch", lambda found, number: edit(found))


def footer(edit: Callable[[Footer], object]) -> Callable[[ArrowFile], None]:
    return lambda file: setattr(file, "edit_footer", edit)


def schema(edit: Callable[[Schema], object]) -> Callable[[ArrowFile], None]:
    """Edits the schema of the first message alone."""
    return lambda file: setattr(file, "edit_schema", edit)


def both(edit: Callable[[Schema], object]) -> Callable[[ArrowFile], None]:
    """Edits the schema in both its places."""

    def change(file: ArrowFile) -> None:
        file.edit_schema = lambda found: edit(found)
        file.edit_footer = lambda found: edit(found.schema)

    return change


CUSTOM = {"pandas": "{}"}
add("R045", "V4 in the schema message", lambda file: setattr(file, "schema_version", V4), column="int64")
add("R045", "V4 in a batch", batch(lambda found: setattr(found, "version", V4)), column="int64")
add("R045", "V4 in the footer", footer(lambda found: setattr(found, "version", V4)), column="int64")
add(
    "R045", "custom metadata of the footer", footer(lambda found: found.custom.update(CUSTOM)), column="int64"
)
add("R045", "custom metadata of the schema", both(lambda found: found.custom.update(CUSTOM)), column="int64")
add("R045", "custom metadata of the schema message", lambda file: file.schema_custom.update(CUSTOM))
add("R045", "custom metadata of a batch", batch(lambda found: found.custom.update(CUSTOM)), column="int64")
add(
    "R045",
    "custom metadata of a field",
    lambda file: file.column("int8").custom.update(CUSTOM),
    column="int64",
)
add("R045", "custom metadata in one schema", schema(lambda found: found.custom.update(CUSTOM)))
add("R045", "big-endian", both(lambda found: setattr(found, "big_endian", True)), column="int64")


def compressed(codec: str, number: int) -> Callable[[Batch], None]:
    """Compresses each buffer as Arrow says: the length before, then the frame."""

    def change(found: Batch) -> None:
        body = bytearray()
        for place in found.ranges:
            content = bytes(found.body[place[0] : sum(place)])
            packed = bytes(pa.Codec(codec).compress(content)) if content else b""
            stored = len(content).to_bytes(8, "little") + packed if content else b""
            place[:] = [len(body), len(stored)]
            body += stored + bytes(-len(stored) % 64)
        found.body, found.compression = body, number

    return change


add("R045", "bodies compressed, lz4", batch(compressed("lz4", 0)), column="int64")
add("R045", "bodies compressed, zstd", batch(compressed("zstd", 1)), column="int64")


def columns(*found: Column) -> Callable[[ArrowFile], None]:
    return lambda file: setattr(file, "columns", list(found))


add("R045", "no columns", columns())
add(
    "R045",
    "a column not nullable",
    lambda file: setattr(file.column("weight"), "nullable", False),
    column="int64",
)


def altered(**changes: Any) -> Callable[[Schema], None]:
    """Another first column in one of the two schemas."""

    def change(found: Schema) -> None:
        first = found.columns[1]
        values = {"name": first.name, "type": first.type, "values": []} | changes
        found.columns[1] = Column(**values)

    return change


for name, change in {
    "another name": altered(name="other"),
    "another type": altered(type=TYPES["uint8"]),
    "another nullable": altered(nullable=False),
    "a column less": lambda found: found.columns.pop(),
    "a column more": lambda found: found.columns.append(Column("more", TYPES["bool"], [])),
    "two columns exchanged": lambda found: found.columns.reverse(),
}.items():
    add("R045", f"first message, {name}", schema(change))
    add("R045", f"footer, {name}", footer(lambda found, change=change: change(found.schema)))


def head(edit: Callable[[bytes], bytes]) -> Callable[[ArrowFile], None]:
    """Replaces the first message by something of the same length."""
    return lambda file: setattr(file, "edit_head", edit)


def batch_first(content: bytes) -> bytes:
    other = message(4, 3, Batch(0, [], [], [], bytearray(), {}).table(), 0)
    return other + bytes(-(len(content) + len(other)) % 64) + content


add("R045", "first message a batch", head(batch_first))

# R045, types: what other Arrow files hold.
PLAIN = "<i8"
REFUSED = {
    "null": Type(1, Flat(), PLAIN),
    "float16": Type(FLOAT, Flat({0: i16(0)}), "<i2"),
    "string": Type(UTF8, Flat(), PLAIN),
    "binary": Type(BINARY, Flat(), PLAIN),
    "large_string": Type(LARGE_UTF8, Flat(), PLAIN),
    "large_binary": Type(LARGE_BINARY, Flat(), PLAIN),
    "decimal128": Type(DECIMAL, Flat({0: i32(10), 1: i32(2), 2: i32(128)}), "<c16"),
    "date64": Type(DATE, Flat({0: i16(MILLI)}), PLAIN),
    "time32": Type(TIME, Flat({0: i16(MILLI), 1: i32(32)}), "<i4"),
    "time64": Type(TIME, Flat({0: i16(3), 1: i32(64)}), PLAIN),
    "timestamp[s]": Type(TIMESTAMP, Flat({0: i16(SECOND)}), PLAIN),
    "timestamp in Berlin": Type(TIMESTAMP, Flat({0: i16(2), 1: b"Europe/Berlin"}), PLAIN),
    "timestamp in utc": Type(TIMESTAMP, Flat({0: i16(2), 1: b"utc"}), PLAIN),
    "timestamp at +00:00": Type(TIMESTAMP, Flat({0: i16(2), 1: b"+00:00"}), PLAIN),
    "duration[s]": Type(DURATION, Flat({0: i16(SECOND)}), PLAIN),
    "month interval": Type(INTERVAL, Flat({0: i16(0)}), "<i4"),
    "fixed_size_binary": Type(FIXED_BINARY, Flat({0: i32(8)}), PLAIN),
}
LAID_OUT = {"null": 0, "string": 3, "binary": 3, "large_string": 3, "large_binary": 3}


def refused(kind: Type, buffers: int) -> Callable[[ArrowFile], None]:
    """A column of that type with a body that Arrow accepts."""

    def change(file: ArrowFile) -> None:
        file.columns.insert(0, Column("odd", kind, np.zeros(ROWS)))

        def lay_out(packed: dict[str, Any], _: int) -> None:
            content = packed["odd"].buffers
            if kind.number == 1:
                packed["odd"].nulls = ROWS
            wide = bytearray(8 * (ROWS + 1))
            packed["odd"].buffers = [bytearray(), wide, bytearray()] if buffers == 3 else content[:buffers]

        file.edit_packed = lay_out

    return change


for name, kind in REFUSED.items():
    add("R045", f"type {name}", refused(kind, LAID_OUT.get(name, 2)), column="odd")


def nested(
    kind: int, children: list[Column], extra: list[list[int]], nodes: int
) -> Callable[[ArrowFile], None]:
    """A list or a struct over children of integers, laid out as Arrow wants it."""

    def change(file: ArrowFile) -> None:
        parent = Column("odd", Type(kind, Flat(), PLAIN), np.zeros(ROWS))
        parent.children = [field_table(child) for child in children]
        file.columns.append(parent)

        def lay_out(found: Batch) -> None:
            found.ranges[-1:] = extra
            found.nodes += [[ROWS, 0]] * nodes

        file.edit_batch = lambda found, _: lay_out(found)

    return change


CHILD = Column("item", TYPES["int64"], [])
add("R045", "type struct", nested(STRUCT, [CHILD], [[0, 0], [0, 8 * ROWS]], 1), column="odd")
add("R045", "type list", nested(LIST, [CHILD], [[8 * ROWS, 64], [0, 0], [0, 8 * ROWS]], 1), column="odd")


def dictionary_column(file: ArrowFile) -> None:
    """A column of int8 indices into two strings, with the dictionary's own batch after the schema."""
    kind = Type(UTF8_VIEW, Flat(), "<i1")
    encoding = Flat({0: i64(0), 1: Flat({0: i32(8), 1: u8(1)}), 2: u8(0)})
    file.columns.append(Column("odd", kind, np.array([0, 1, 0, 1, 0]), dictionary=encoding))
    words = bytearray(struct.pack("<i12si12s", 3, b"one", 3, b"two"))
    strings = Batch(2, [[2, 0]], [[0, 0], [0, len(words)]], [0], words, {})
    first: list[int] = []

    def with_dictionary(content: bytes) -> bytes:
        found = message(V5, DICTIONARY_BATCH, Flat({0: i64(0), 1: strings.table(), 2: u8(0)}), len(words))
        first[:] = [8 + len(content), len(found), len(words)]
        return content + found + words

    file.edit_head = with_dictionary
    file.edit_footer = lambda found: found.dictionaries.append(list(first))


add("R045", "type dictionary", dictionary_column, column="odd")

# R045, names.
NAMES = {
    "empty": "",
    "of 256 bytes": "a" * 256,
    "of 256 bytes in 128 letters": "é" * 128,
    "with a NUL": "a\0b",
    "with an underscore first": "_x",
    "_row": "_row",
    "cache_id": "cache_id",
    "sample_id": "sample_id",
    "of a field": "rag",
    "of another column": "int64",
}
for label, name in NAMES.items():
    add(
        "R045",
        f"name {label}",
        lambda file, name=name: file.columns.append(Column(name, TYPES["int8"], [1] * ROWS)),
    )

# R046
for label, kind, values in (
    ("float32", "float32", [1.0] * ROWS),
    ("int64", "int64", [1] * ROWS),
    ("a string", "utf8_view", ["1"] * ROWS),
    ("bool", "bool", [True] * ROWS),
    ("a null", "float64", [1.0, None, 1.0, 1.0, 1.0]),
    ("all null", "float64", [None] * ROWS),
    ("NaN", "float64", [1.0, 1.0, float("nan"), 1.0, 1.0]),
    ("infinity", "float64", [1.0, 1.0, 1.0, 1.0, float("inf")]),
    ("minus infinity", "float64", [float("-inf"), 1.0, 1.0, 1.0, 1.0]),
    ("negative", "float64", [1.0, 1.0, 1.0, -1.0, 1.0]),
    ("negative and subnormal", "float64", [1.0, 1.0, 1.0, -5e-324, 1.0]),
):
    add(
        "R046",
        label,
        lambda file, k=kind, v=values: file.columns.__setitem__(-1, Column("weight", TYPES[k], v)),
    )
