import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dsrt_format import Zstd
from dsrt_format.codecs import (
    Decoder,
    Encoder,
    check_frame_header,
    delta_decode,
    delta_encode,
    load_dictionary,
)
from dsrt_format.rules import Violation

MAGIC = bytes.fromhex("28b52ffd")


def block(data, *, last=True, kind=0, size=None):
    return (last | kind << 1 | (len(data) if size is None else size) << 3).to_bytes(3, "little") + data


def frame(data=b"hello", *, descriptor=0x20, size=None, blocks=None):
    """A frame of one segment with a content size of one byte and raw blocks."""
    size = len(data) if size is None else size
    return MAGIC + bytes([descriptor, size]) + (block(data) if blocks is None else blocks)


def rule_of(stored, size, dictionary=None):
    try:
        check_frame_header(stored, size, len(stored))
        return Decoder(dictionary).decode(stored, size)
    except Violation as violation:
        return violation.rule


@given(st.binary(max_size=600), st.integers(1, 255))
def test_delta_is_undone(data, distance):
    encoded = delta_encode(data, distance)
    assert encoded[:distance] == data[:distance]
    assert all(encoded[i] == (data[i] - data[i - distance]) % 256 for i in range(distance, len(data)))
    assert delta_decode(encoded, distance) == data


@given(st.binary(max_size=2000), st.integers(1, 22), st.none() | st.binary(min_size=8, max_size=100))
def test_frames_are_as_the_format_wants_them_and_decode(data, level, dictionary):
    if dictionary is not None and dictionary.startswith(bytes.fromhex("37a430ec")):
        return
    stored = Encoder(Zstd(level, dictionary=dictionary)).encode(data)
    assert rule_of(stored, len(data), dictionary and load_dictionary(dictionary)) == data


@pytest.mark.parametrize("size", [255, 256, 65_535, 65_536, 65_791, 65_792, 2**20 + 1])
def test_content_sizes_around_the_widths_of_their_field(size):
    data = np.random.default_rng(size).integers(0, 3, size, np.uint8).tobytes()
    for params in None, zstandard.ZstdCompressionParameters(window_log=10, write_content_size=True):
        options = {} if params is None else {"compression_params": params}
        stored = zstandard.ZstdCompressor(**options).compress(data)
        assert rule_of(stored, size) == data
        assert rule_of(stored, size + 1) == "R036"


def test_the_most_compressible_record_stays_within_the_bound():
    data = bytes(40 << 20)
    assert rule_of(Encoder(Zstd(19)).encode(data), len(data)) == data


def test_an_empty_record_is_one_frame_of_content_size_0():
    assert Encoder(Zstd()).encode(b"") == frame(b"")
    assert rule_of(frame(b""), 0) == b""


def test_trained_dictionaries_load_and_their_frames_do_not_name_them():
    samples = [f"sample {i} of many that resemble each other {i % 7}".encode() * 3 for i in range(1000)]
    trained = zstandard.train_dictionary(1024, samples).as_bytes()
    assert trained.startswith(bytes.fromhex("37a430ec"))
    stored = Encoder(Zstd(dictionary=trained)).encode(samples[5])
    assert stored[4] & 3 == 0
    assert rule_of(stored, len(samples[5]), load_dictionary(trained)) == samples[5]
    assert rule_of(stored, len(samples[5])) == "R037"


def test_what_begins_like_a_trained_dictionary_and_is_none_is_refused():
    with pytest.raises(ValueError, match="does not load"):
        load_dictionary(bytes.fromhex("37a430ec") + bytes(60))
    with pytest.raises(ValueError, match="does not load"):
        Encoder(Zstd(dictionary=bytes.fromhex("37a430ec") + bytes(60)))


def test_r035_comes_before_the_header_is_looked_at():
    assert rule_of(b"xxxx", 4 * 32768 + 1) == "R035"
    assert rule_of(b"xxxx", 4 * 32768) == "R036"
    assert rule_of(b"", 0) == "R036"


WINDOW_129_MIB = MAGIC + bytes([0x80, 17 << 3 | 1]) + (5).to_bytes(4, "little") + block(b"hello")
WINDOW_128_MIB = MAGIC + bytes([0x80, 17 << 3]) + (5).to_bytes(4, "little") + block(b"hello")


@pytest.mark.parametrize(
    "stored",
    [
        b"\x27\xb5\x2f\xfd" + frame()[4:],
        bytes.fromhex("502a4d18") + (5).to_bytes(4, "little") + b"hello",
        MAGIC,
        MAGIC + b"\x20",
        frame(descriptor=0x24),
        frame(descriptor=0x28),
        frame(descriptor=0x21),
        MAGIC + b"\x00\x00" + block(b"hello"),
        WINDOW_129_MIB,
        frame(size=6),
        frame(size=4),
        MAGIC + b"\x60\x05",
        MAGIC + b"\xe0\x05\0\0\0\0\0\0",
    ],
)
def test_r036_headers(stored):
    assert rule_of(stored, 5) == "R036"


def test_a_window_of_128_mib_and_the_unused_bit_are_allowed():
    assert rule_of(WINDOW_128_MIB, 5) == b"hello"
    assert rule_of(frame(descriptor=0x30), 5) == b"hello"


@pytest.mark.parametrize(
    ("stored", "size"),
    [
        (frame() + b"x", 5),
        (frame() + frame(), 5),
        (frame()[:-1], 5),
        (MAGIC + b"\x20\x05", 5),
        (MAGIC + b"\x20\x05\x01", 5),
        (frame(blocks=block(b"hello", last=False)), 5),
        (frame(blocks=block(b"hell")), 5),
        (frame(b"hell", blocks=block(b"hello")), 4),
        (frame(blocks=block(b"hello", kind=3)), 5),
        (frame(blocks=block(b"hello", kind=2)), 5),
        (frame(blocks=block(b"h", kind=1, size=6)), 5),
        (frame(b"", blocks=block(b"x")), 0),
        (frame(b"", blocks=block(b"x", kind=1, size=131072)), 0),
        (frame(b"", blocks=block(b"", kind=3)), 0),
        (frame(b"") + b"x", 0),
        (frame(b"")[:-1], 0),
    ],
)
def test_r037_blocks(stored, size):
    assert rule_of(stored, size) == "R037"


def test_a_frame_whose_blocks_cannot_hold_its_size_is_refused_before_anything_is_allocated():
    raw, repeated = block(b"x" * 2**20, last=False), block(b"x", last=False, kind=1, size=2**17)
    for blocks in raw * 4 + block(b""), repeated * 2**20 + block(b""):
        size = 32768 * len(blocks)
        stored = MAGIC + b"\xe0" + size.to_bytes(8, "little") + blocks
        assert rule_of(stored, size) == "R037"
    with pytest.raises(Violation, match="hold at most 4194304 bytes, expected 137439"):
        Decoder().decode(MAGIC + b"\xe0" + bytes(8) + raw * 4 + block(b""), 137_439_000_000)


def test_blocks_of_every_kind_decode():
    repeated = block(b"l", last=False, kind=1, size=2)
    blocks = block(b"he", last=False) + repeated + block(b"", last=False) + block(b"o")
    assert rule_of(frame(blocks=blocks), 5) == b"hello"
    assert rule_of(frame(b"", blocks=block(b"", last=False) + block(b"x", kind=1, size=0)), 0) == b""


@given(st.binary(max_size=40), st.integers(0, 40))
def test_garbage_after_a_sound_header_is_r037_or_decodes_to_the_size(garbage, size):
    found = rule_of(MAGIC + bytes([0x20, size]) + garbage, size)
    assert found == "R037" or len(found) == size
