"""The two checksums of the format: CRC-32C for each record, BLAKE3 for whole bodies."""

import struct
from collections.abc import Sequence
from typing import Any

import blake3
import google_crc32c

__all__ = ["blake3_digest", "extended_crc", "finished_crc", "record_crc", "record_key"]


def record_crc(stored: bytes, ordinal: int, shape: Sequence[int]) -> int:
    """Return the CRC-32C of a record before the key of its file is applied.

    Args:
        stored: The record's bytes as they are in the file.
        ordinal: The record's number in its shard.
        shape: The shape in its index entry: one length per axis for ragged, bytes and text, none for dense.
    """
    return finished_crc(google_crc32c.value(stored), ordinal, shape)


def extended_crc(crc: int, data: bytes) -> int:
    """Return the CRC-32C of `data` after bytes that have the CRC-32C `crc`; that of no bytes is 0."""
    return int(google_crc32c.extend(crc, data))


def finished_crc(crc: int, ordinal: int, shape: Sequence[int]) -> int:
    """Return what `record_crc` does, of a record whose stored bytes have the given CRC-32C."""
    return extended_crc(crc, struct.pack(f"<{1 + len(shape)}Q", ordinal, *shape))


def record_key(body_digest: bytes) -> int:
    """Return what a file's CRCs are XORed with: the first four bytes of its body's digest, little-endian."""
    return int.from_bytes(body_digest[:4], "little")


def blake3_digest(data: Any) -> bytes:
    """Return the 32 bytes of BLAKE3 over anything with a buffer."""
    return blake3.blake3(data).digest()
