"""Zstandard frames, by the library and by hand (RFC 8878): a test can choose every bit of a header."""

from __future__ import annotations

import struct

import zstandard

from .recorded import recorded

RAW, RLE, COMPRESSED, RESERVED = 0, 1, 2, 3
MAGIC = bytes.fromhex("28b52ffd")


def compress(content: bytes, dictionary: bytes | None = None) -> bytes:
    """One frame as the format wants it: content size, no checksum, no dictionary id."""
    return recorded("frame", [content, dictionary or b""], lambda: _compress(content, dictionary))


def _compress(content: bytes, dictionary: bytes | None) -> bytes:
    trained = None if dictionary is None else zstandard.ZstdCompressionDict(dictionary)
    compressor = zstandard.ZstdCompressor(
        level=3, dict_data=trained, write_checksum=False, write_content_size=True, write_dict_id=False
    )
    return compressor.compress(content)


def compress_checked(content: bytes) -> bytes:
    """A frame with a checksum at its end, which the format refuses."""
    compressor = zstandard.ZstdCompressor(write_checksum=True, write_content_size=True)
    return recorded("frame with a checksum", [content], lambda: compressor.compress(content))


def train(samples: list[bytes], size: int) -> bytes:
    """A dictionary with entropy tables."""
    return recorded(
        f"dictionary of {size}", samples, lambda: zstandard.train_dictionary(size, samples).as_bytes()
    )


def block(content: bytes, *, kind: int = RAW, last: bool = True, size: int | None = None) -> bytes:
    """A block; `size` is what its header says (for RLE the length after decoding)."""
    length = len(content) if size is None else size
    return (length << 3 | kind << 1 | last).to_bytes(3, "little") + content


def run_of(byte: int, count: int) -> bytes:
    """Blocks that decode to `count` times one byte, 4 stored bytes for each 128 KiB."""
    sizes = [1 << 17] * (count >> 17) + [count % (1 << 17)] * (count % (1 << 17) > 0)
    ends = [number == len(sizes) - 1 for number in range(len(sizes))]
    return b"".join(
        block(bytes([byte]), kind=RLE, last=last, size=size) for size, last in zip(sizes, ends, strict=True)
    )


def frame(
    content: bytes = b"",
    *,
    blocks: bytes | None = None,
    size: int | None = None,
    size_bytes: int = 4,
    window: int | None = None,
    flags: int = 0,
    magic: bytes = MAGIC,
    dictionary_id: bytes = b"",
    tail: bytes = b"",
) -> bytes:
    """A frame of stored blocks.

    `size_bytes` (0, 1, 2, 4 or 8) says how the content size is spelt; without `window` (its descriptor)
    it is a single segment; `flags` are further bits of the descriptor: 1-3 dictionary id, 4 checksum,
    8 reserved, 16 unused.
    """
    value = len(content) if size is None else size
    spelt = {0: "", 1: "B", 2: "<H", 4: "<I", 8: "<Q"}[size_bytes]
    size_flag = {0: 0, 1: 0, 2: 1, 4: 2, 8: 3}[size_bytes]
    written = struct.pack(spelt, value - 256 if size_bytes == 2 else value) if spelt else b""
    single = window is None
    head = magic + bytes([size_flag << 6 | single << 5 | flags])
    head += b"" if window is None else bytes([window])
    return head + dictionary_id + written + (block(content) if blocks is None else blocks) + tail
