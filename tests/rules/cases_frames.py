"""R036 and R037: what stands in a zstd frame's header, and that it decodes to exactly its size."""

from __future__ import annotations

from .case import Table
from .cases_records import BOUND, store
from .forge import Cache
from .frames import MAGIC, RESERVED, RLE, block, compress, compress_checked, frame
from .goods import DICTIONARY

TABLE = Table("read")
CONTENT = b"0123456789" * 30
SIZE = len(CONTENT)
OF, SAMPLE = "blob", 4


def add(rule: str, name: str, stored: bytes, size: int = SIZE, of: str = OF) -> None:
    """A case in which a bytes record of `size` is stored so."""

    def change(cache: Cache) -> None:
        store(cache.record(of, SAMPLE), stored, size)

    TABLE.add(rule, name, change, field=of, shard=1, sample=SAMPLE)


HEADERS = {
    "magic zeros": frame(CONTENT, magic=bytes(4)),
    "magic of version 0.7": frame(CONTENT, magic=bytes.fromhex("27b52ffd")),
    "magic reversed": frame(CONTENT, magic=MAGIC[::-1]),
    "magic of a dictionary": frame(CONTENT, magic=bytes.fromhex("37a430ec")),
    "skippable frame": bytes.fromhex("502a4d18") + SIZE.to_bytes(4, "little") + CONTENT,
    "skippable frame, then a good one": bytes.fromhex("5f2a4d1800000000") + frame(CONTENT),
    "stored as they are": CONTENT,
    "dictionary id of a byte": frame(CONTENT, flags=1, dictionary_id=b"\x07"),
    "dictionary id of two bytes": frame(CONTENT, flags=2, dictionary_id=b"\x07\x07"),
    "dictionary id of four bytes": frame(CONTENT, flags=3, dictionary_id=b"\x07\0\0\0"),
    "dictionary id 0": frame(CONTENT, flags=1, dictionary_id=b"\0"),
    "checksum": compress_checked(CONTENT),
    "checksum flag alone": frame(CONTENT, flags=4),
    "reserved bit": frame(CONTENT, flags=8),
    "no content size": frame(CONTENT, size_bytes=0, window=0),
    "content size one more": frame(CONTENT, size=SIZE + 1),
    "content size one less": frame(CONTENT, size=SIZE - 1),
    "content size 0": frame(CONTENT, size=0),
    "content size 2^32 more": frame(CONTENT, size=SIZE + (1 << 32), size_bytes=8),
    "content size 2^64 - 1": frame(CONTENT, size=(1 << 64) - 1, size_bytes=8),
    "content size 2^64 - 2": frame(CONTENT, size=(1 << 64) - 2, size_bytes=8),
    "content of another size": frame(CONTENT[:-1]),
    "window of 144 MiB": frame(CONTENT, window=0x89),
    "window of 256 MiB": frame(CONTENT, window=0x90),
    "window of 3.75 TiB": frame(CONTENT, window=0xFF),
}
for name, stored in HEADERS.items():
    add("R036", name, stored)
for cut in (1, 4, 5, 8):
    add("R036", f"header cut after {cut} bytes", frame(CONTENT)[:cut])
add("R036", "header cut in a content size of 8 bytes", frame(CONTENT, size_bytes=8)[:12])
add("R036", "nothing stored, size 0", b"", 0)
add("R036", "empty frame without a content size", frame(size_bytes=0, window=0), 0)
add("R036", "text, checksum", compress_checked(CONTENT), of="caption")


@TABLE.case("R036", "dense, frame of a shorter record", field="feat", shard=1, sample=SAMPLE)
def _(cache: Cache) -> None:
    store(cache.record("feat", SAMPLE), compress(bytes(12)))


@TABLE.case("R036", "ragged with a dictionary, frame names it", field="tokens", shard=1, sample=SAMPLE)
def _(cache: Cache) -> None:
    content = cache.field("tokens").values[SAMPLE].tobytes()
    store(cache.record("tokens", SAMPLE), frame(content, flags=1, dictionary_id=b"\x01"))


GOOD = frame(CONTENT)
PACKED = compress(CONTENT)
BODIES = {
    "a byte after the frame": GOOD + b"\0",
    "a second frame": GOOD + GOOD,
    "an empty frame after it": GOOD + frame(),
    "a skippable frame after it": GOOD + bytes.fromhex("502a4d1800000000"),
    "compressed, a byte after it": PACKED + b"\0",
    "no block": frame(CONTENT, blocks=b""),
    "block header cut": frame(CONTENT, blocks=b"\x01\0"),
    "block cut": GOOD[:-1],
    "compressed block cut": PACKED[:-1],
    "reserved block": frame(CONTENT, blocks=block(CONTENT, kind=RESERVED)),
    "no last block": frame(CONTENT, blocks=block(CONTENT, last=False)),
    "a byte too few": frame(blocks=block(CONTENT[:-1]), size=SIZE),
    "a byte too many": frame(blocks=block(CONTENT + b"x"), size=SIZE),
    "nothing": frame(blocks=block(b""), size=SIZE),
    "a run too short": frame(blocks=block(b"a", kind=RLE, size=SIZE - 1), size=SIZE),
    "a run too long": frame(blocks=block(b"a", kind=RLE, size=SIZE + 1), size=SIZE),
    "a run far too long": frame(blocks=block(b"a", kind=RLE, size=(1 << 21) - 1), size=SIZE),
    "blocks that add up to less": frame(blocks=block(CONTENT[:9], last=False) + block(b"x"), size=SIZE),
    "garbage in a compressed block": frame(CONTENT, blocks=(9 << 3 | 5).to_bytes(3, "little") + b"\xff" * 9),
}
for name, stored in BODIES.items():
    add("R037", name, stored)
add("R037", "empty, a byte after it", frame() + b"\0", 0)
add("R037", "empty, with content", frame(blocks=block(b"x"), size=0), 0)
add("R037", "text, a byte too few", frame(blocks=block(CONTENT[:-1]), size=SIZE), of="caption")


@TABLE.case("R037", "dense, a byte too few", field="feat", shard=1, sample=SAMPLE)
def _(cache: Cache) -> None:
    store(cache.record("feat", SAMPLE), frame(blocks=block(bytes(15)), size=16))


add("R037", "nothing at the bound of R035", frame(blocks=block(b""), size=BOUND, size_bytes=8), BOUND)
# Compressed against a dictionary, in a field that has none.
add(
    "R037",
    "match before the start of the content",
    compress(DICTIONARY[64:], DICTIONARY),
    len(DICTIONARY) - 64,
)
