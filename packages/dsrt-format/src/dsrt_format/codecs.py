"""From a record's bytes to what is stored and back: the delta filter and zstd frames, strictly checked."""

import numpy as np
import zstandard

from dsrt_format.fields import Zstd
from dsrt_format.rules import Violation

__all__ = ["Decoder", "Encoder", "check_frame_header", "delta_decode", "delta_encode", "load_dictionary"]

# No zstd frame expands further: a block of 4 bytes holds at most 128 KiB.
_MAX_EXPANSION = 32768
_MAX_BLOCK = 128 << 10
_MAX_WINDOW = 128 << 20
_MAGIC = bytes.fromhex("28b52ffd")
_TRAINED = bytes.fromhex("37a430ec")
_EMPTY_FRAME = _MAGIC + bytes.fromhex("2000010000")


def delta_encode(data: bytes, distance: int) -> bytes:
    """Return `data` with each byte from `distance` on as its difference to the one `distance` before."""
    values = np.frombuffer(data, np.uint8)
    out = values.copy()
    out[distance:] -= values[:-distance]
    return out.tobytes()


def delta_decode(data: bytes, distance: int) -> bytes:
    """Undo `delta_encode`: a running sum per lane."""
    rows = -(-len(data) // distance)
    lanes = np.zeros((rows, distance), np.uint8)
    lanes.reshape(-1)[: len(data)] = np.frombuffer(data, np.uint8)
    return lanes.cumsum(axis=0, dtype=np.uint8).tobytes()[: len(data)]


def load_dictionary(body: bytes) -> zstandard.ZstdCompressionDict:
    """Return a dictionary from its body: trained if it begins with the magic of those, else raw content.

    Raises:
        ValueError: It begins like a trained dictionary and is none.
    """
    kind = zstandard.DICT_TYPE_FULLDICT if body.startswith(_TRAINED) else zstandard.DICT_TYPE_RAWCONTENT
    dictionary = zstandard.ZstdCompressionDict(body, dict_type=kind)
    try:
        zstandard.ZstdDecompressor(dict_data=dictionary).stream_reader(_EMPTY_FRAME).read(1)
    except zstandard.ZstdError as error:
        raise ValueError(f"the dictionary begins like a trained one and does not load: {error}") from None
    return dictionary


def check_frame_header(stored: bytes, size: int, length: int) -> None:
    """Check what a zstd frame says of itself before anything is allocated from it.

    Source of the layout: RFC 8878, section 3.1.1.1.

    Args:
        stored: The frame, or its first 18 bytes; no header is longer.
        size: The bytes it must hold.
        length: The length of the frame.

    Raises:
        Violation: R035 or R036.
    """
    if size > _MAX_EXPANSION * length:
        raise Violation("R035", f"{size} bytes in a frame of {length}: more than {_MAX_EXPANSION}-fold")
    header_bytes = _frame_header_bytes(stored)
    descriptor = stored[4]
    if descriptor & 0b1000:
        raise Violation("R036", "the reserved bit of the zstd frame header is set")
    if descriptor & 0b0100:
        raise Violation("R036", "the zstd frame has a checksum of its own, which the format does not allow")
    if descriptor & 0b0011:
        raise Violation("R036", "the zstd frame names a dictionary, which the format does not allow")
    single_segment, size_flag = bool(descriptor & 0b10_0000), descriptor >> 6
    if not single_segment:
        exponent, mantissa = divmod(stored[5], 8)
        if (window := (8 + mantissa) << (7 + exponent)) > _MAX_WINDOW:
            raise Violation(
                "R036", f"the window of the zstd frame has {window} bytes, at most 128 MiB are allowed"
            )
        if size_flag == 0:
            raise Violation("R036", "the zstd frame does not say its content size")
    content = int.from_bytes(stored[5 + (not single_segment) : header_bytes], "little")
    content += 256 if size_flag == 1 else 0
    if content != size:
        raise Violation("R036", f"the zstd frame says it holds {content} bytes, the record has {size}")


def _check_blocks(stored: bytes, size: int) -> None:
    """Raise R037 unless the blocks of a frame end where the stored bytes do and can hold `size` bytes.

    Source of the layout: RFC 8878, section 3.1.1.2.
    """
    at, last, room = _frame_header_bytes(stored), False, 0
    while not last:
        if at + 3 > len(stored):
            raise Violation("R037", "the zstd frame ends in the middle of a block header")
        block = int.from_bytes(stored[at : at + 3], "little")
        last, kind, block_bytes = bool(block & 1), block >> 1 & 3, block >> 3
        if kind == 3:
            raise Violation("R037", "the zstd frame has a block of the reserved type")
        at += 3 + (1 if kind == 1 else block_bytes)
        room += _MAX_BLOCK if kind == 2 else block_bytes
        if at > len(stored):
            raise Violation("R037", "the zstd frame ends in the middle of a block")
    if at != len(stored):
        raise Violation("R037", f"{len(stored) - at} bytes follow the zstd frame of {at} bytes")
    # Before the decoder allocates what the header says.
    if room < size:
        raise Violation("R037", f"the blocks of the zstd frame hold at most {room} bytes, expected {size}")


def _frame_header_bytes(stored: bytes) -> int:
    if not stored.startswith(_MAGIC):
        raise Violation("R036", "the stored bytes do not begin with the magic of a zstd frame")
    if len(stored) > 4:
        single_segment, size_flag = bool(stored[4] & 0b10_0000), stored[4] >> 6
        size_bytes = (int(single_segment), 2, 4, 8)[size_flag]
        if len(stored) >= (length := 5 + (not single_segment) + size_bytes):
            return length
    raise Violation("R036", "the zstd frame ends in the middle of its header")


class Encoder:
    """Compresses the records of a field, each into one frame as the format wants it.

    Args:
        codec: Level and dictionary; one that is to be trained has been by now.

    Raises:
        ValueError: The dictionary begins like a trained one and is none.
    """

    def __init__(self, codec: Zstd) -> None:
        dictionary = load_dictionary(codec.dictionary) if isinstance(codec.dictionary, bytes) else None
        self._compressor = zstandard.ZstdCompressor(
            codec.level,
            dict_data=dictionary,
            write_content_size=True,
            write_checksum=False,
            write_dict_id=False,
        )

    def encode(self, data: bytes) -> bytes:
        """Return one frame that holds `data`."""
        return self._compressor.compress(data)


class Decoder:
    """Decompresses the records of a field whose frame headers have been checked.

    Args:
        dictionary: The dictionary of a field with the codec zstd-dict, else None.
    """

    def __init__(self, dictionary: zstandard.ZstdCompressionDict | None = None) -> None:
        self._decompressor = zstandard.ZstdDecompressor(dict_data=dictionary)

    def decode(self, stored: bytes, size: int) -> bytes:
        """Return the `size` bytes of a record.

        Raises:
            Violation: R037.
        """
        _check_blocks(stored, size)
        try:
            # python-zstandard's one-shot call returns at once for a content size of 0, garbage or not.
            # Reading one byte makes libzstd decode the frame into a buffer that has no room for more.
            if size == 0:
                data = self._decompressor.stream_reader(stored).read(1)
            else:
                data = self._decompressor.decompress(stored, allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise Violation("R037", f"the zstd frame does not decode: {error}") from None
        if len(data) != size:
            raise Violation("R037", f"the zstd frame decodes to {len(data)} bytes, expected {size}")
        return data
