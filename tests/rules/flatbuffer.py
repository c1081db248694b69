"""A small writer of FlatBuffers, for Arrow messages whose every number a test can choose.

Source: the FlatBuffers binary format (flatbuffers.dev, "FlatBuffers Internals"). A parent is written before
its children, so offsets are patched once a child's place is known; each table has a vtable of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Scalar:
    """One number written in place: `code` is its letter in the struct module."""

    code: str
    value: int

    @property
    def size(self) -> int:
        return struct.calcsize("<" + self.code)


@dataclass
class Structs:
    """A vector of structs or scalars of equal layout: `code` packs one element.

    The elements lie at a multiple of 8, or so many bytes behind one.
    """

    code: str
    rows: Sequence[Sequence[int]]
    behind: int = 0


@dataclass
class Table:
    """A table; slot k holds `slots.get(k)`, absent slots take the schema's default."""

    slots: dict[int, Node] = field(default_factory=dict)


Node = Scalar | Structs | Table | bytes | list[Table]


def i8(value: int) -> Scalar:
    return Scalar("b", value)


def u8(value: int) -> Scalar:
    return Scalar("B", value)


def i16(value: int) -> Scalar:
    return Scalar("h", value)


def i32(value: int) -> Scalar:
    return Scalar("i", value)


def i64(value: int) -> Scalar:
    return Scalar("q", value)


def finish(root: Table) -> bytes:
    """The buffer that begins with the offset of `root`, padded to a multiple of 8 bytes."""
    out = bytearray(4)
    place = _write_table(out, root)
    struct.pack_into("<I", out, 0, place)
    _pad(out, 8)
    return bytes(out)


def _pad(out: bytearray, to: int, ahead: int = 0) -> None:
    out.extend(bytes(-(len(out) + ahead) % to))


def _write_table(out: bytearray, table: Table) -> int:
    places: dict[int, int] = {}
    end = 4
    for slot, node in sorted(table.slots.items(), key=lambda item: -_inline_size(item[1])):
        size = _inline_size(node)
        end += -end % size
        places[slot] = end
        end += size
    slots = max(places, default=-1) + 1
    vtable_size = 4 + 2 * slots
    _pad(out, 8, vtable_size)
    vtable = len(out)
    offsets = [places.get(slot, 0) for slot in range(slots)]
    out.extend(struct.pack(f"<{2 + slots}H", vtable_size, end, *offsets))
    start = len(out)
    out.extend(bytes(end))
    struct.pack_into("<i", out, start, start - vtable)
    for slot, node in table.slots.items():
        at = start + places[slot]
        if isinstance(node, Scalar):
            struct.pack_into("<" + node.code, out, at, node.value)
        else:
            struct.pack_into("<I", out, at, _write_node(out, node) - at)
    return start


def _inline_size(node: Node) -> int:
    return node.size if isinstance(node, Scalar) else 4


def _write_node(out: bytearray, node: Table | Structs | bytes | list[Table]) -> int:
    if isinstance(node, Table):
        return _write_table(out, node)
    if isinstance(node, bytes):
        _pad(out, 4)
        place = len(out)
        out.extend(struct.pack("<I", len(node)) + node + b"\0")
        return place
    if isinstance(node, Structs):
        _pad(out, 8, 4)
        out.extend(bytes(node.behind))
        place = len(out)
        out.extend(struct.pack("<I", len(node.rows)))
        for row in node.rows:
            out.extend(struct.pack("<" + node.code, *row))
        return place
    _pad(out, 4)
    place = len(out)
    out.extend(struct.pack("<I", len(node)) + bytes(4 * len(node)))
    for number, table in enumerate(node):
        at = place + 4 + 4 * number
        struct.pack_into("<I", out, at, _write_table(out, table) - at)
    return place
