"""The 64 bytes at the start of shard and dictionary files. Readers derive and compare, nothing parses."""

import struct
from enum import IntEnum

from dsrt_format.rules import Violation

__all__ = ["HEADER_BYTES", "FileType", "build_header", "check_header"]

HEADER_BYTES = 64
_MAGIC = bytes.fromhex("89445352540d0a1a")
_FORMAT = 1


class FileType(IntEnum):
    """What follows the header."""

    FIXED = 1
    INDEXED = 2
    DICTIONARY = 3


def build_header(kind: FileType, entry_bytes: int, count: int, body_bytes: int, body_digest: bytes) -> bytes:
    """Return a header.

    Args:
        kind: The type of the file.
        entry_bytes: Bytes per index entry, 0 for a dictionary.
        count: The number of records, 0 for a dictionary.
        body_bytes: The length of the file without the header.
        body_digest: The 32 bytes of BLAKE3 over the body, before the key is applied.
    """
    return struct.pack("<8sHHIQQ32s", _MAGIC, _FORMAT, kind, entry_bytes, count, body_bytes, body_digest)


def check_header(found: bytes, expected: bytes) -> None:
    """Raise R031 unless the header found is the one expected."""
    if found == expected:
        return
    at = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), len(found))
    raise Violation(
        "R031",
        f"the header differs from byte {at} on from the one the manifest implies; the file is damaged "
        "or belongs to another cache, copy it again from where the cache came from",
    )
