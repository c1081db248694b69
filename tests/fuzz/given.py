"""An input as the fuzz targets read it: from the front, and zero where nothing is left.

The engine's targets read the same layout (packages/dsrt-native/crates/dsrt-core/src/fuzz), so that one corpus
serves both.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

from dsrt_format.checksum import record_crc
from dsrt_format.dtypes import ITEMSIZE
from dsrt_format.entries import Field

KINDS = ["dense", "ragged", "bytes", "text"]
DTYPES = list(ITEMSIZE)
CODECS = ["raw", "zstd", "zstd-dict"]
MOST_FIXED = 1 << 16
MAX_RECORD = 1 << 48
HEADER = 64


class Given:
    """What is left of an input."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def up_to(self, length: int) -> bytes:
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def exactly(self, length: int) -> bytes:
        return self.up_to(length).ljust(length, b"\0")

    def number(self, length: int) -> int:
        return int.from_bytes(self.exactly(length), "little")

    def field(self) -> tuple[Field, bytes | None]:
        """A field without files, and the body of its dictionary."""
        kind, dtype, codec, delta, axes = self.exactly(5)
        kind_name, axes = KINDS[kind % 4], axes % 32
        shape = tuple(self.exactly(axes)) if kind_name == "dense" else None
        dtype_name = DTYPES[dtype % len(DTYPES)] if kind_name in ("dense", "ragged") else "uint8"
        codec_name = CODECS[codec % 3]
        dictionary = None
        if codec_name == "zstd-dict":
            dictionary = self.up_to(self.number(2)).ljust(8, b"\0")
        filtered = dtype_name == "uint8" and codec_name != "raw" and delta > 0
        ndim = max(axes, 1) if kind_name == "ragged" else None
        made = Field(
            "x", kind_name, dtype_name, codec_name, (), shape, ndim, delta if filtered else None, None
        )
        return made, dictionary


@dataclass
class Entry:
    """What an index says of a record."""

    end: int
    crc: int
    shape: tuple[int, ...]


@dataclass
class Shard:
    """A shard before its digests are made."""

    field: Field
    dictionary: bytes | None
    entries: list[Entry]
    area: bytes
    flipped: int = 0
    right_checksums: bool = True
    right_index: bool = True
    is_possible: bool = field(init=False)

    def __post_init__(self) -> None:
        """Fits the area to what a file may have, and makes the checksums."""
        self.is_possible = self._fit()

    @property
    def fixed(self) -> bool:
        return self.field.kind == "dense" and self.field.codec == "raw"

    def _fit(self) -> bool:
        if self.field.kind == "dense":
            axes = [axis for axis in self.field.shape or () if axis]
            if math.prod(axes) * ITEMSIZE[self.field.dtype] > MAX_RECORD:
                return False
            if self.fixed:
                length = self.field.stride * len(self.entries)
                if length > MOST_FIXED:
                    return False
                self.area = self.area[:length].ljust(length, b"\0")
        self.area += bytes(-len(self.area) % 8)
        low = HEADER
        for ordinal, entry in enumerate(self.entries):
            high = low + self.field.stride if self.fixed else entry.end
            if self.right_checksums and HEADER <= low <= high <= HEADER + len(self.area):
                entry.crc = record_crc(self.area[low - HEADER : high - HEADER], ordinal, entry.shape)
            low = high
        return True

    def index(self, key: int) -> bytes:
        """The index with a key applied."""
        if self.fixed:
            return b"".join(struct.pack("<I", entry.crc ^ key) for entry in self.entries)
        packed = (
            struct.pack(f"<QI{len(entry.shape)}Q", entry.end, entry.crc ^ key, *entry.shape)
            for entry in self.entries
        )
        return b"".join(packed)


def shard_of_index(data: bytes) -> Shard:
    """The shard of an input of the target `index`."""
    given = Given(data)
    field, dictionary = given.field()
    count, flipped, flags = given.exactly(3)
    entries = []
    for _ in range(count % 16 + 1):
        end = 0 if field.kind == "dense" and field.codec == "raw" else given.number(8)
        entries.append(Entry(end, given.number(4), tuple(given.number(8) for _ in range(field.entry_ndim))))
    return Shard(field, dictionary, entries, given.rest, flipped % 65, bool(flags & 1), bool(flags & 2))


def shard_of_record(data: bytes) -> Shard:
    """The shard of an input of the target `record`: the record, twice."""
    given = Given(data)
    field, dictionary = given.field()
    shape = tuple(given.number(8) for _ in range(field.entry_ndim))
    stored = given.rest
    if field.kind == "dense" and field.codec == "raw":
        length = min(field.stride, 1 << 15)
        stored = stored[:length].ljust(length, b"\0")
    ends = [HEADER + len(stored), HEADER + 2 * len(stored)]
    return Shard(field, dictionary, [Entry(end, 0, shape) for end in ends], stored * 2)
