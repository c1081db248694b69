"""Shard files: header, records, index at the tail. Reading with every check, and building."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dsrt_format.checksum import blake3_digest, record_crc, record_key
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
        self._index_start = self._entry.bytes - count * field.entry_bytes
        self._index_bytes = file.read(self._index_start, count * field.entry_bytes)
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

    def stored(self, ordinal: int) -> StoredRecord:
        """Return the stored bytes of a record and the shape in its entry, proven by its checksum.

        Raises:
            Violation: R032 or R033.
        """
        entry = self._index[ordinal]
        shape = tuple(int(axis) for axis in entry["shape"])
        if self._field.file_type is FileType.FIXED:
            low = HEADER_BYTES + ordinal * self._field.stride
            high = low + self._field.stride
        else:
            low = int(self._index[ordinal - 1]["end"]) if ordinal else HEADER_BYTES
            high = int(entry["end"])
            if not HEADER_BYTES <= low <= high <= self._index_start:
                raise Violation(
                    "R032",
                    f"the record is said to be at bytes {low} to {high}, but records are at "
                    f"{HEADER_BYTES} to {self._index_start}",
                )
        stored = self._file.read(low, high - low)
        found = record_crc(stored, ordinal, shape) ^ record_key(self._digest)
        if found != entry["crc"]:
            raise Violation(
                "R033",
                f"the checksum of the record is {found:08x}, its entry says {entry['crc']:08x}; "
                "one of them is damaged, copy the file again from where the cache came from",
            )
        return stored, shape

    def record(self, ordinal: int) -> StoredRecord:
        """Return the bytes of a record as they were before the codec, and its shape.

        Raises:
            Violation: One of R032 to R038, or R040.
        """
        stored, shape = self.stored(ordinal)
        field = self._field
        if field.kind == "dense":
            assert field.shape is not None
            shape = field.shape
        itemsize = ITEMSIZE[field.dtype]
        if (problem := shape_problem(shape, itemsize)) is not None:
            raise Violation("R034", f"the record has the shape {list(shape)!r:.200}: {problem}")
        size = itemsize
        for axis in shape:
            size *= axis
        if field.codec == "raw":
            if len(stored) != size:
                raise Violation(
                    "R034", f"the record has {len(stored)} bytes, its shape {list(shape)} needs {size}"
                )
            data = stored
        else:
            check_frame_header(stored, size)
            data = self._decoder().decode(stored, size)
            if field.delta is not None:
                data = delta_decode(data, field.delta)
        if field.kind == "text":
            try:
                data.decode()
            except UnicodeDecodeError as error:
                raise Violation("R038", f"the text is not UTF-8 at byte {error.start}") from None
        return data, shape


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
