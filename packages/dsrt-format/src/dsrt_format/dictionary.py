"""dictionary.bin: what the records of a field with the codec zstd-dict are compressed against."""

from collections.abc import Iterable

import zstandard

from dsrt_format.checksum import blake3_digest
from dsrt_format.codecs import load_dictionary
from dsrt_format.directory import CacheFile
from dsrt_format.entries import DictionaryFile
from dsrt_format.errors import SchemaError
from dsrt_format.fields import TRAINED_BYTES
from dsrt_format.header import HEADER_BYTES, FileType, build_header, check_header
from dsrt_format.rules import Violation

__all__ = [
    "TRAINING_BYTES",
    "build_dictionary",
    "check_dictionary_header",
    "read_dictionary",
    "train_dictionary",
]

TRAINING_BYTES = 100 * TRAINED_BYTES
"""So many bytes of records a dictionary is trained on, if there are as many: what zstd recommends."""

# What the algorithm counts are pieces of 8 bytes; it learns from three quarters of the records, at least 5.
_PIECE = 8
_MIN_RECORDS = 7


def check_dictionary_header(file: CacheFile, entry: DictionaryFile) -> None:
    """Raise R031 unless the header is the one that follows from the manifest."""
    digest = bytes.fromhex(entry.body_blake3)
    expected = build_header(FileType.DICTIONARY, 0, 0, entry.bytes - HEADER_BYTES, digest)
    check_header(file.read(0, HEADER_BYTES), expected)


def read_dictionary(file: CacheFile, entry: DictionaryFile) -> zstandard.ZstdCompressionDict:
    """Return the dictionary, proven by its digest.

    Raises:
        Violation: R040.
    """
    body = file.read(HEADER_BYTES, entry.bytes - HEADER_BYTES)
    if (found := blake3_digest(body).hex()) != entry.body_blake3:
        raise Violation(
            "R040",
            f"the dictionary has the digest {found[:16]}…, the manifest says {entry.body_blake3[:16]}…; "
            "copy the file again from where the cache came from",
        )
    try:
        return load_dictionary(body)
    except ValueError as error:
        raise Violation("R040", str(error)) from None


def build_dictionary(body: bytes) -> tuple[bytes, DictionaryFile]:
    """Return a dictionary file and its entry for the manifest."""
    digest = blake3_digest(body)
    header = build_header(FileType.DICTIONARY, 0, 0, len(body), digest)
    return header + body, DictionaryFile(HEADER_BYTES + len(body), digest.hex())


def train_dictionary(records: Iterable[bytes]) -> bytes:
    """Return a dictionary trained on the first `TRAINING_BYTES` of records, as they come out of the filter.

    The algorithm is fastCover of zstd's ``ZDICT_trainFromBuffer`` with its default parameters.

    Raises:
        SchemaError: The records are too few or too small.
    """
    used: list[bytes | bytearray | memoryview] = []
    room, count = TRAINING_BYTES, 0
    for record in records:
        count += 1
        if len(part := record[:room]) >= _PIECE:
            used.append(part)
            room -= len(part)
    problem = f"at least {_MIN_RECORDS} of {_PIECE} bytes and more are needed, and thousands are better"
    if len(used) >= _MIN_RECORDS:
        try:
            return zstandard.train_dictionary(TRAINED_BYTES, used).as_bytes()
        except zstandard.ZstdError as error:
            problem = str(error)
    raise SchemaError(
        f"no dictionary can be trained on {count} records: {problem}. "
        "Use zstd without a dictionary, or give one"
    )
