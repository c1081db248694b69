"""An Arrow IPC file as a mutable model: each message can be edited before its bytes are made.

Source: the Arrow columnar format, "IPC File Format" and its Schema.fbs, Message.fbs and File.fbs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .arrow_columns import Column, Packed, Type, pack
from .flatbuffer import Node, Structs, Table, finish, i8, i16, i64, u8

MAGIC = b"ARROW1"
BATCH_ROWS = 262_144
V4, V5 = 3, 4
SCHEMA, DICTIONARY_BATCH, RECORD_BATCH = 1, 2, 3
CONTINUATION = b"\xff\xff\xff\xff"


@dataclass
class Schema:
    """The schema as one of its two places states it: the first message, or the footer."""

    columns: list[Column]
    custom: dict[str, str] = field(default_factory=dict)
    big_endian: bool = False
    features: Structs | None = None

    def table(self) -> Table:
        slots: dict[int, Node] = {
            0: i16(self.big_endian),
            1: [field_table(column) for column in self.columns],
        }
        if self.features is not None:
            slots[3] = self.features
        return Table(slots | _custom(2, self.custom))


@dataclass
class Batch:
    """A record batch after its buffers have been laid out; `at` gives a column's (node, first buffer)."""

    rows: int
    nodes: list[list[int]]
    ranges: list[list[int]]
    variadic: list[int]
    body: bytearray
    at: dict[str, tuple[int, int]]
    compression: int | None = None
    version: int = V5
    kind: int = RECORD_BATCH
    custom: dict[str, str] = field(default_factory=dict)
    body_length: int | None = None

    def range_of(self, column: str, buffer: int) -> list[int]:
        """[offset, length] of one of a column's buffers, to be changed in place."""
        return self.ranges[self.at[column][1] + buffer]

    def table(self) -> Table:
        slots: dict[int, Node] = {
            0: i64(self.rows),
            1: Structs("qq", self.nodes),
            2: Structs("qq", self.ranges),
        }
        if self.compression is not None:
            slots[3] = Table({0: i8(self.compression), 1: i8(0)})
        if self.variadic:
            slots[4] = Structs("q", [[count] for count in self.variadic])
        return Table(slots)


@dataclass
class Footer:
    """What the footer says: its version, its copy of the schema, and where the batches lie.

    `behind` moves a list of blocks, named by its slot, so many bytes from where it is aligned.
    """

    schema: Schema | None
    blocks: list[list[int]]
    version: int = V5
    dictionaries: list[list[int]] = field(default_factory=list)
    behind: dict[int, int] = field(default_factory=dict)
    custom: dict[str, str] = field(default_factory=dict)

    def table(self) -> Table:
        block = "qi4xq"
        slots: dict[int, Node] = {
            0: i16(self.version),
            2: Structs(block, self.dictionaries, self.behind.get(2, 0)),
            3: Structs(block, self.blocks, self.behind.get(3, 0)),
        }
        if self.schema is not None:
            slots[1] = self.schema.table()
        return Table(slots | _custom(4, self.custom))


@dataclass
class ArrowFile:
    """Columns, and the edits of each stage: each is called with the model it may change."""

    columns: list[Column]
    rows: int
    batch_rows: list[int] | None = None
    align: int = 64
    schema_version: int = V5
    schema_custom: dict[str, str] = field(default_factory=dict)
    edit_packed: Callable[[dict[str, Packed], int], None] | None = None
    edit_batch: Callable[[Batch, int], None] | None = None
    edit_schema: Callable[[Schema], None] | None = None
    edit_footer: Callable[[Footer], None] | None = None
    edit_head: Callable[[bytes], bytes] | None = None
    edit_file: Callable[[bytearray], bytes | bytearray] | None = None

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def build(self) -> bytes:
        """The file's bytes."""
        schema = Schema(list(self.columns))
        if self.edit_schema is not None:
            self.edit_schema(schema)
        head = message(self.schema_version, SCHEMA, schema.table(), 0, self.schema_custom)
        out = bytearray(MAGIC + b"\0\0")
        out += head if self.edit_head is None else self.edit_head(head)
        blocks, start = [], 0
        for number, rows in enumerate(self._batch_rows()):
            batch = self._batch(number, start, rows)
            start += rows
            length = len(batch.body) if batch.body_length is None else batch.body_length
            meta = message(batch.version, batch.kind, batch.table(), length, batch.custom)
            blocks.append([len(out), len(meta), len(batch.body)])
            out += meta + batch.body
        footer = Footer(Schema(list(self.columns)), blocks)
        out += CONTINUATION + bytes(4)
        if self.edit_footer is not None:
            self.edit_footer(footer)
        tail = finish(footer.table())
        out += tail + struct.pack("<i", len(tail)) + MAGIC
        return bytes(out if self.edit_file is None else self.edit_file(out))

    def _batch_rows(self) -> list[int]:
        if self.batch_rows is not None:
            return self.batch_rows
        whole, rest = divmod(self.rows, BATCH_ROWS)
        return [BATCH_ROWS] * whole + [rest] * (rest > 0)

    def _batch(self, number: int, start: int, rows: int) -> Batch:
        packed = {column.name: pack(column, start, start + rows) for column in self.columns}
        if self.edit_packed is not None:
            self.edit_packed(packed, number)
        batch = Batch(rows, [], [], [], bytearray(), {})
        for column in self.columns:
            item = packed[column.name]
            batch.at[column.name] = (len(batch.nodes), len(batch.ranges))
            batch.nodes.append([rows, item.nulls])
            if column.type.storage == "view":
                batch.variadic.append(len(item.buffers) - 2)
            for content in item.buffers:
                batch.body += bytes(-len(batch.body) % self.align)
                batch.ranges.append([len(batch.body), len(content)])
                batch.body += content
        batch.body += bytes(-len(batch.body) % self.align)
        if self.edit_batch is not None:
            self.edit_batch(batch, number)
        return batch


def message(version: int, kind: int, header: Table, body: int, custom: dict[str, str] | None = None) -> bytes:
    """An encapsulated message without its body: continuation, length, flatbuffer, padded to 8 bytes."""
    slots: dict[int, Node] = {0: i16(version), 1: u8(kind), 2: header, 3: i64(body)}
    content = finish(Table(slots | _custom(4, custom or {})))
    return CONTINUATION + struct.pack("<i", len(content)) + content


def field_table(column: Column) -> Table:
    """A column as the schema's table `Field`."""
    kind: Type = column.type
    slots: dict[int, Node] = {
        0: column.name.encode() if column.raw_name is None else column.raw_name,
        1: u8(column.nullable),
        2: u8(kind.number),
        3: kind.slots,
        5: column.children,
    }
    if column.dictionary is not None:
        slots[4] = column.dictionary
    return Table(slots | _custom(6, column.custom))


def _custom(slot: int, pairs: dict[str, str]) -> dict[int, Any]:
    if not pairs:
        return {}
    return {slot: [Table({0: key.encode(), 1: value.encode()}) for key, value in pairs.items()]}
