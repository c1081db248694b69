"""dictionary.bin: what the records of a field with the codec zstd-dict are compressed against."""

import zstandard

from dsrt_format.checksum import blake3_digest
from dsrt_format.codecs import load_dictionary
from dsrt_format.directory import CacheFile
from dsrt_format.entries import DictionaryFile
from dsrt_format.header import HEADER_BYTES, FileType, build_header, check_header
from dsrt_format.rules import Violation

__all__ = ["build_dictionary", "check_dictionary_header", "read_dictionary"]


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
