"""R045, R046: what the schema of metadata.arrow may say, and the weight."""

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
from .case import Table
from .cases_rows import meta
from .flatbuffer import Table as Flat
from .flatbuffer import i16, i32, i64, u8
from .recorded import recorded

TABLE = Table("metadata")
ROWS = 5


def add(rule: str, name: str, edit: Callable[[ArrowFile], object], **where: Any) -> None:
    TABLE.add(rule, name, meta(edit), **where)


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
            packed = recorded(
                f"arrow {codec}", [content], lambda of=content: bytes(pa.Codec(codec).compress(of))
            )
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
    "timestamp with an empty zone": Type(TIMESTAMP, Flat({0: i16(2), 1: b""}), PLAIN),
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
