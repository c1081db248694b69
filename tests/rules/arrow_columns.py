"""Arrow column types of metadata.arrow, and the buffers of a column packed by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .flatbuffer import Table, i16, i32, u8

# Numbers of the union `Type` in Arrow's Schema.fbs.
INT, FLOAT, BINARY, UTF8, BOOL, DECIMAL, DATE, TIME, TIMESTAMP = 2, 3, 4, 5, 6, 7, 8, 9, 10
INTERVAL, LIST, STRUCT, FIXED_BINARY, DURATION, LARGE_BINARY, LARGE_UTF8 = 11, 12, 13, 15, 18, 19, 20
BINARY_VIEW, UTF8_VIEW = 23, 24
SECOND, MILLI, MICRO, NANO = 0, 1, 2, 3


@dataclass(frozen=True)
class Type:
    """What the schema says of a column; `storage` is "bits", "view" or a NumPy dtype."""

    number: int
    slots: Table
    storage: str


def _integer(bits: int, signed: bool) -> Type:
    return Type(INT, Table({0: i32(bits), 1: u8(signed)}), f"<{'i' if signed else 'u'}{bits // 8}")


def _timed(number: int, unit: int, zone: bytes | None = None) -> Type:
    return Type(number, Table({0: i16(unit)} | ({} if zone is None else {1: zone})), "<i8")


TYPES = {
    "bool": Type(BOOL, Table(), "bits"),
    "int8": _integer(8, True),
    "int16": _integer(16, True),
    "int32": _integer(32, True),
    "int64": _integer(64, True),
    "uint8": _integer(8, False),
    "uint16": _integer(16, False),
    "uint32": _integer(32, False),
    "uint64": _integer(64, False),
    "float32": Type(FLOAT, Table({0: i16(1)}), "<f4"),
    "float64": Type(FLOAT, Table({0: i16(2)}), "<f8"),
    "utf8_view": Type(UTF8_VIEW, Table(), "view"),
    "binary_view": Type(BINARY_VIEW, Table(), "view"),
    "date32": Type(DATE, Table({0: i16(0)}), "<i4"),
    "timestamp[ms]": _timed(TIMESTAMP, MILLI),
    "timestamp[us]": _timed(TIMESTAMP, MICRO),
    "timestamp[ns]": _timed(TIMESTAMP, NANO),
    "timestamp[us, UTC]": _timed(TIMESTAMP, MICRO, b"UTC"),
    "duration[ms]": _timed(DURATION, MILLI),
    "duration[us]": _timed(DURATION, MICRO),
    "duration[ns]": _timed(DURATION, NANO),
}
# Not among those above, because vectors with a column of each of these were shipped before.
ZONED = {
    "timestamp[ms, UTC]": _timed(TIMESTAMP, MILLI, b"UTC"),
    "timestamp[ns, UTC]": _timed(TIMESTAMP, NANO, b"UTC"),
}


@dataclass
class Column:
    """A column: `values` are a list with None for a null (temporal ones as integers), or a NumPy array."""

    name: str
    type: Type
    values: Sequence[Any]
    nullable: bool = True
    custom: dict[str, str] = field(default_factory=dict)
    dictionary: Table | None = None
    children: list[Table] = field(default_factory=list)
    raw_name: bytes | None = None
    bitmap: bool = False


@dataclass
class Packed:
    """The buffers of one column in one batch: validity first, then values or views, then a view's data."""

    nulls: int
    buffers: list[bytearray]

    def put(self, buffer: int, code: str, place: int, *values: int | float | bytes) -> None:
        """Overwrites what lies at byte `place` of a buffer."""
        struct.pack_into("<" + code, self.buffers[buffer], place, *values)


def pack(column: Column, start: int, stop: int) -> Packed:
    """Rows `start` to `stop` in Arrow's layout; no bitmap without nulls, zero under a null."""
    values = column.values[start:stop]
    if isinstance(values, np.ndarray):
        return Packed(0, [bytearray(), bytearray(values.astype(column.type.storage).tobytes())])
    present = [value is not None for value in values]
    nulls = present.count(False)
    validity = _bits(present) if nulls or column.bitmap else bytearray()
    if column.type.storage == "bits":
        return Packed(nulls, [validity, _bits([bool(value) for value in values])])
    if column.type.storage == "view":
        return Packed(nulls, [validity, *_views(values)])
    filled = [0 if value is None else value for value in values]
    return Packed(nulls, [validity, bytearray(np.array(filled, column.type.storage).tobytes())])


def _bits(flags: Sequence[bool]) -> bytearray:
    return bytearray(np.packbits(np.array(flags, np.uint8), bitorder="little").tobytes())


def _views(values: Sequence[str | bytes | None]) -> list[bytearray]:
    views, data = bytearray(), bytearray()
    for value in values:
        text = value.encode() if isinstance(value, str) else value or b""
        if len(text) <= 12:
            views += struct.pack("<i12s", len(text), text)
        else:
            views += struct.pack("<i4sii", len(text), text[:4], 0, len(data))
            data += text
    return [views, data] if data else [views]
