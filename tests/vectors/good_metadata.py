"""Caches whose metadata is right: every type at its ends, every freedom that the format leaves a writer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from tests.rules.accepted import METADATA
from tests.rules.arrow_columns import FLOAT, TYPES, ZONED, Column, Type
from tests.rules.arrow_file import ArrowFile
from tests.rules.flatbuffer import Table, i16
from tests.rules.forge import Cache, Field, Record, Shard
from tests.rules.goods import table, with_metadata
from tests.vectors.bits import FLOATS
from tests.vectors.model import Good

VECTORS: list[Good] = []
ROWS = 5


def payload(rows: int) -> Cache:
    """Samples of no bytes."""
    field = Field(
        "x", "bytes", "uint8", shards=[Shard([Record(b"", (0,))] * rows)] if rows else [], values=[b""] * rows
    )
    return Cache(name="good", fields=[field], counts=[rows] if rows else [])


def add(name: str, about: str, make: Callable[[], ArrowFile]) -> None:
    def cache() -> Cache:
        file = make()
        return with_metadata(payload(file.rows), file)

    VECTORS.append(Good(f"metadata-{name}", about, cache))


# A float by its bits: Python's own floats do not carry every NaN.
BITS = {
    "float32": Type(FLOAT, Table({0: i16(1)}), "<u4"),
    "float64": Type(FLOAT, Table({0: i16(2)}), "<u8"),
}


def between(types: Mapping[str, Type]) -> list[Column]:
    """Both ends of every type of numbers, null, and what lies between."""
    columns = []
    for name, kind in types.items():
        if kind.storage in ("bits", "view") or name in BITS:
            continue
        bits = 8 * int(kind.storage[2:])
        low, high = (0, 2**bits - 1) if kind.storage[1] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        columns.append(Column(name, kind, [low, None, high, 0, 1]))
    return columns


def ends() -> ArrowFile:
    """The same, and bools."""
    bools = Column("bool", TYPES["bool"], [True, None, False, None, True])
    return ArrowFile([*between(TYPES), bools], ROWS)


def floats() -> ArrowFile:
    """Floats with the same bits as those of payload."""
    rows = len(FLOATS["float32"]) + 1
    columns = [Column(name, kind, [*FLOATS[name], None]) for name, kind in BITS.items()]
    return ArrowFile(columns, rows)


STRINGS = [
    "",
    None,
    "of 12 letter",
    "of 13 letters",
    "zwölf Boxkämpfer",
    "\0",
    "a\0b and more than twelve\0",
    "\U0010ffff\uffff\ufeff",
    "日本語のテキスト、少し長い",
    "of 13 letters",
    None,
]


def strings() -> ArrowFile:
    """Strings inside of their views and outside; bytes that are no text."""
    blobs = [None if text is None else text.encode() + b"\xff" * (len(text) > 12) for text in STRINGS]
    columns = [Column("string", TYPES["utf8_view"], STRINGS), Column("binary", TYPES["binary_view"], blobs)]
    columns.append(Column("short", TYPES["utf8_view"], [text and text[:4] for text in STRINGS]))
    return ArrowFile(columns, len(STRINGS))


def nulls() -> ArrowFile:
    """Nothing but nulls, 9 rows of them, in every type."""
    return ArrowFile([Column(name, kind, [None] * 9) for name, kind in TYPES.items()], 9)


def bits() -> ArrowFile:
    """77 rows: bitmaps that end within a byte."""
    values = [None if row % 7 == 0 else row % 3 == 0 for row in range(77)]
    numbers = [None if row % 9 == 8 else row for row in range(77)]
    return ArrowFile([Column("bool", TYPES["bool"], values), Column("int8", TYPES["int8"], numbers)], 77)


NAMES = ("a" * 255, "Weight", "CACHE_ID", "X", "a b", "日本語", "\u00a0", "0", "x_", "i\n", "é" * 127)


def names() -> ArrowFile:
    """Names of columns that just are allowed."""
    return ArrowFile([Column(name, TYPES["int8"], [number, None]) for number, name in enumerate(NAMES)], 2)


def weights() -> ArrowFile:
    """Weights: zero, minus zero, the smallest and the largest."""
    return ArrowFile(
        [Column("weight", TYPES["float64"], [0.0, -0.0, 5e-324, 1.7976931348623157e308, 1.5])], ROWS
    )


add("ends", "Both ends of every type of integer, time and date, and nulls.", ends)
add(
    "utc",
    "Both ends of timestamps in UTC of milliseconds and of nanoseconds.",
    lambda: ArrowFile(between(ZONED), ROWS),
)
add("floats", "float32 and float64: -0.0, infinities, NaNs with payloads, the smallest, null.", floats)
add("strings", "Strings and binaries of up to 12 bytes, which lie in their views, and longer ones.", strings)
add("nulls", "Nothing but nulls in columns of every type.", nulls)
add("bits", "77 rows of bools and of small integers with nulls: bitmaps that end within a byte.", bits)
add("names", "Names of columns that just are allowed, one of 255 bytes.", names)
add("weights", "Weights of 0, -0.0, the smallest and the largest number.", weights)
add("without-rows", "Metadata of every type without rows, and so without batches.", lambda: table(0))

ABOUT = {
    "aligned to 8 bytes": "Buffers aligned to 8 bytes and not to 64.",
    "bitmaps without nulls": "Bitmaps in columns that hold no null.",
    "bits behind the last row": "Bits that are set behind the last row of a bitmap and of bools.",
    "buffers longer than their rows": "Buffers that are longer than their rows need.",
    "two buffers of one view column": "A column of views with two data buffers.",
    "views that overlap": "Two strings that share bytes of the data buffer.",
    "a gap at the end of the body": "A gap at the end of a batch's body.",
    "an empty buffer at the end of the body": "An empty buffer that begins where the body ends.",
    "an empty list at a place for 4 bytes": "The list of dictionaries is empty and lies at no multiple of 8.",
}


def freely(label: str) -> ArrowFile:
    file = table(ROWS)
    METADATA[label](file)
    return file


for label, about in ABOUT.items():
    add(label.replace(" ", "-"), about, functools.partial(freely, label))
