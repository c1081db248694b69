"""Shard files: header, records, index at the tail. Reading with every check, and building."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from blake3 import blake3

from dsrt_format.checksum import blake3_digest, extended_crc, finished_crc, record_crc, record_key
from dsrt_format.codecs import Decoder, check_frame_header, delta_decode
from dsrt_format.directory import CacheFile
from dsrt_format.dtypes import ITEMSIZE
from dsrt_format.entries import Field, ShardFile
from dsrt_format.fields import shape_problem
from dsrt_format.header import HEADER_BYTES, FileType, build_header, check_header
from dsrt_format.rules import Violation

__all__ = ["ShardReader", "build_shard"]

StoredRecord = tuple[bytes, tuple[int, ...]]


class ShardReader:
    """Reads the records of one shard file.

    Args:
        file: The open file.
        field: The field.
        shard: The number of the shard.
        count: The number of records in it.
        decoder: Returns the decoder of a compressing codec, or raises R040; called when the first frame whose
            header is sound is to be decoded.
    """

    def __init__(
        self, file: CacheFile, field: Field, shard: int, count: int, decoder: Callable[[], Decoder]
    ) -> None:
        self._file = file
        self._field = field
        self._entry = field.files[shard]
        self._count = count
        self._decoder = decoder
        self._digest = bytes.fromhex(self._entry.body_blake3)
        self.index_start = self._entry.bytes - count * field.entry_bytes
        self._index_bytes = file.read(self.index_start, count * field.entry_bytes)
        self._index = np.frombuffer(self._index_bytes, _entry_dtype(field))

    def check_header(self) -> None:
        """Raise R031 unless the header is the one that follows from the manifest."""
        expected = build_header(
            self._field.file_type,
            self._field.entry_bytes,
            self._count,
            self._entry.bytes - HEADER_BYTES,
            self._digest,
        )
        check_header(self._file.read(0, HEADER_BYTES), expected)

    def check_index(self) -> None:
        """Raise R039 unless the index of an indexed shard has the manifest's digest."""
        if self._entry.index_blake3 is None:
            return
        found = blake3_digest(self._index_bytes).hex()
        if found != self._entry.index_blake3:
            raise Violation(
                "R039",
                f"the index has the digest {found[:16]}…, expected {self._entry.index_blake3[:16]}…; "
                "lengths of records cannot be trusted",
            )

    def check_end(self) -> None:
        """Raise R051 unless the records end where the index begins, but for a pad of zeros."""
        end = self.span(self._count - 1)[1] if self._field.file_type is FileType.FIXED else self._last_end()
        if any(pad := self._file.read(end, self.index_start - end)):
            raise Violation("R051", f"the pad before the index is {pad.hex(' ')}, expected zeros")

    def _last_end(self) -> int:
        end = int(self._index[-1]["end"])
        if not (HEADER_BYTES <= end <= self.index_start and -(-end // 8) * 8 == self.index_start):
            raise Violation(
                "R051",
                f"the last record is said to end at byte {end}, the index begins at {self.index_start}; "
                "there may be 0 to 7 bytes between them",
            )
        return end

    def check_body(self, advance: Callable[[int], None]) -> None:
        """Raise R050 unless the body, its key taken off, has the digest that the manifest says.

        Args:
            advance: Called with the number of bytes of every piece that was read.
        """
        hasher = blake3()
        for piece in self._file.pieces(HEADER_BYTES, self.index_start - HEADER_BYTES):
            hasher.update(piece)
            advance(len(piece))
        index = self._index.copy()
        index["crc"] ^= np.uint32(record_key(self._digest))
        if (found := hasher.update(index.tobytes()).hexdigest()) != self._entry.body_blake3:
            raise Violation(
                "R050",
                f"the body has the digest {found[:16]}…, the manifest says {self._entry.body_blake3[:16]}…; "
                "copy the file again from where the cache came from",
            )

    def is_ordered(self) -> bool:
        """Return whether no record breaks R032, which one look at the whole index tells."""
        if self._field.file_type is FileType.FIXED:
            return True
        ends = self._index["end"]
        return bool(
            ends[0] >= HEADER_BYTES and ends[-1] <= self.index_start and (ends[1:] >= ends[:-1]).all()
        )

    def span(self, ordinal: int) -> tuple[int, int]:
        """Return where the stored bytes of a record begin and end in the file.

        Raises:
            Violation: R032.
        """
        if self._field.file_type is FileType.FIXED:
            low = HEADER_BYTES + ordinal * self._field.stride
            return low, low + self._field.stride
        low = int(self._index[ordinal - 1]["end"]) if ordinal else HEADER_BYTES
        high = int(self._index[ordinal]["end"])
        if not HEADER_BYTES <= low <= high <= self.index_start:
            raise Violation(
                "R032",
                f"the record is said to be at bytes {low} to {high}, but records are at "
                f"{HEADER_BYTES} to {self.index_start}",
            )
        return low, high

    def shape(self, ordinal: int) -> tuple[int, ...]:
        """Return the shape in the entry of a record: one length per axis, none for dense."""
        return tuple(int(axis) for axis in self._index[ordinal]["shape"])

    def check_crc(self, ordinal: int, crc: int) -> None:
        """Raise R033 unless stored bytes with the CRC-32C `crc` are those of a record."""
        found = finished_crc(crc, ordinal, self.shape(ordinal)) ^ record_key(self._digest)
        if found != (expected := int(self._index[ordinal]["crc"])):
            raise Violation(
                "R033",
                f"the checksum of the record is {found:08x}, its entry says {expected:08x}; "
                "one of them is damaged, copy the file again from where the cache came from",
            )

    def stored(self, ordinal: int) -> bytes:
        """Return the stored bytes of a record, proven by its checksum.

        Raises:
            Violation: R032 or R033.
        """
        low, high = self.span(ordinal)
        stored = self._file.read(low, high - low)
        self.check_crc(ordinal, extended_crc(0, stored))
        return stored

    def size(self, ordinal: int) -> int:
        """Return the bytes that a record has before the codec by its shape.

        Raises:
            Violation: R034, the shape is not within the limits.
        """
        shape = self._shape(ordinal)
        itemsize = ITEMSIZE[self._field.dtype]
        if (problem := shape_problem(shape, itemsize)) is not None:
            raise Violation("R034", f"the record has the shape {list(shape)!r:.200}: {problem}")
        size = itemsize
        for axis in shape:
            size *= axis
        return size

    def check_raw_length(self, ordinal: int, length: int) -> None:
        """Raise R034 unless so many stored bytes are those of a raw record of its shape."""
        if length != (size := self.size(ordinal)):
            shape = list(self._shape(ordinal))
            raise Violation("R034", f"the record has {length} bytes, its shape {shape} needs {size}")

    def record(self, ordinal: int) -> StoredRecord:
        """Return the bytes of a record as they were before the codec, and its shape.

        Raises:
            Violation: One of R032 to R038, or R040.
        """
        stored = self.stored(ordinal)
        field = self._field
        if field.codec == "raw":
            self.check_raw_length(ordinal, len(stored))
            data = stored
        else:
            size = self.size(ordinal)
            check_frame_header(stored, size, len(stored))
            data = self.decoded(stored, size)
        if field.kind == "text":
            try:
                data.decode()
            except UnicodeDecodeError as error:
                raise Violation("R038", f"the text is not UTF-8 at byte {error.start}") from None
        return data, self._shape(ordinal)

    def decoded(self, stored: bytes, size: int) -> bytes:
        """Return the `size` bytes in a frame with a sound header, as they were before the filter.

        Raises:
            Violation: R037 or R040.
        """
        data = self._decoder().decode(stored, size)
        return data if self._field.delta is None else delta_decode(data, self._field.delta)

    def _shape(self, ordinal: int) -> tuple[int, ...]:
        return self.shape(ordinal) if self._field.shape is None else self._field.shape


def build_shard(field: Field, records: Sequence[StoredRecord]) -> tuple[bytes, ShardFile]:
    """Return a shard file and its entry for the manifest.

    Args:
        field: The field; its files are not looked at.
        records: The stored bytes of each record and the shape for its entry: one length per axis for ragged,
            bytes and text, () for dense.
    """
    index = np.zeros(len(records), _entry_dtype(field))
    end = HEADER_BYTES
    for ordinal, (stored, shape) in enumerate(records):
        end += len(stored)
        index[ordinal]["crc"] = record_crc(stored, ordinal, shape)
        if field.file_type is FileType.INDEXED:
            index[ordinal]["end"] = end
            index[ordinal]["shape"] = shape
    front = b"".join(stored for stored, _ in records) + bytes(-end % 8)
    digest = blake3_digest(front + index.tobytes())
    index["crc"] ^= np.uint32(record_key(digest))
    body = front + index.tobytes()
    header = build_header(field.file_type, field.entry_bytes, len(records), len(body), digest)
    index_blake3 = blake3_digest(index.tobytes()).hex() if field.file_type is FileType.INDEXED else None
    return header + body, ShardFile(HEADER_BYTES + len(body), digest.hex(), index_blake3)


def _entry_dtype(field: Field) -> np.dtype[Any]:
    crc, shape = ("crc", "<u4"), ("shape", "<u8", (field.entry_ndim,))
    return np.dtype([crc, shape] if field.file_type is FileType.FIXED else [("end", "<u8"), crc, shape])
