"""R032 to R035 and R038: the range, the checksum, the shape, the bound and the text of a record."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Break, Table
from .forge import Cache, Field, Record, checksum, seal_shard
from .frames import block, compress, frame, run_of
from .goods import fill

TABLE = Table("read")
LAST = 4  # the sample most cases break: the second of its shard
ORDINAL = 1


def add(rule: str, name: str, of: str, edit: Callable[[Record], object], **where: Any) -> None:
    """A case that changes the record of sample 4; all above it is made anew."""

    def change(cache: Cache) -> None:
        edit(cache.record(of, LAST))

    TABLE.add(rule, f"{of}, {name}", change, **({"field": of, "shard": 1, "sample": LAST} | where))


def ends(of: str, sample: int, end: Callable[[int, int], int]) -> Break:
    """Sets the `end` of a record, given where it ends now and where the index starts."""

    def change(cache: Cache) -> None:
        number, ordinal = cache.place(sample)
        records = cache.field(of).shards[number].records
        now = [64 + int(place) for place in np.cumsum([len(record.stored) for record in records])]
        records[ordinal].end = end(now[ordinal], now[-1] + -now[-1] % 8)

    return change


def add_end(rule: str, name: str, of: str, moved: int, sample: int, end: Callable[[int, int], int]) -> None:
    """A case in which the `end` of record `moved` is wrong, met by `sample`; its neighbour is spoilt, too."""
    spoilt = {0: {0, 1}, 1: {1, 2}, 3: {3, 4}, 4: {4}}[moved]
    where = {"field": of, "shard": int(moved >= 3), "sample": sample, "others": frozenset(spoilt - {sample})}
    TABLE.add(rule, f"{of}, {name}", ends(of, moved, end), also=frozenset({"R032", "R033", "R051"}), **where)


for of in ("rag", "tokens", "feat"):
    add_end("R032", "first record ends in the header", of, 0, 0, lambda end, index: 60)
    add_end("R032", "record begins in the header", of, 0, 1, lambda end, index: 60)
    add_end("R032", "first record ends at 0", of, 0, 0, lambda end, index: 0)
    add_end("R032", "ends before it begins", of, 1, 1, lambda end, index: 63)
    add_end("R032", "begins behind its end", of, 3, 4, lambda end, index: 1 << 40)
    add_end("R032", "a byte into the index", of, 4, 4, lambda end, index: index + 1)
    add_end("R032", "at the end of the file", of, 4, 4, lambda end, index: index + 24)
    add_end("R032", "far behind the file", of, 4, 4, lambda end, index: 1 << 40)
    add_end("R032", "end 2^63", of, 4, 4, lambda end, index: 1 << 63)
    add_end("R032", "end 2^64 - 1", of, 4, 4, lambda end, index: (1 << 64) - 1)
    add_end("R033", "a byte of the next record", of, 3, 3, lambda end, index: end + 1)
    add_end("R033", "a byte left to the next record", of, 3, 4, lambda end, index: end - 1)
for of in ("rag", "blob"):
    add_end("R033", "pad taken for a record", of, 4, 4, lambda end, index: index)


def keep_crc(edit: Callable[[Record], object]) -> Callable[[Record], None]:
    """An edit after which the entry still holds the checksum of before."""

    def change(record: Record) -> None:
        record.crc = checksum(record, ORDINAL)
        edit(record)

    return change


def store(record: Record, stored: bytes, *shape: int) -> None:
    record.stored = stored
    if shape:
        record.shape = shape


def crc(record: Record, value: int) -> None:
    record.crc = value


for of in ("dense", "half", "feat", "label", "rag", "grid", "tokens", "jpeg", "blob", "title", "caption"):
    add("R033", "first byte", of, keep_crc(lambda r: store(r, bytes([r.stored[0] ^ 1]) + r.stored[1:])))
    add("R033", "last byte", of, keep_crc(lambda r: store(r, r.stored[:-1] + bytes([r.stored[-1] ^ 128]))))
for of in ("dense", "void", "rag", "feat"):
    add("R033", "lowest bit of the checksum", of, lambda r: crc(r, checksum(r, ORDINAL) ^ 1))
    add("R033", "highest bit of the checksum", of, lambda r: crc(r, checksum(r, ORDINAL) ^ 1 << 31))
    add("R033", "checksum 0", of, lambda r: crc(r, 0))
    add("R033", "ordinal of the other record", of, lambda r: crc(r, checksum(r, 0)))
    add("R033", "number in the cache for the ordinal", of, lambda r: crc(r, checksum(r, LAST)))
    add("R033", "ordinal left out", of, lambda r: crc(r, zlib.crc32(r.stored)))
for of in ("dense", "rag"):
    add("R033", "a hole", of, keep_crc(lambda r: store(r, bytes(len(r.stored)))))
for of in ("rag", "grid", "tokens", "jpeg", "caption"):
    add("R033", "shape not in the checksum", of, lambda r: crc(r, checksum(Record(r.stored), ORDINAL)))
    add("R033", "shape changed", of, keep_crc(lambda r: store(r, r.stored, r.shape[0] ^ 1, *r.shape[1:])))
add("R033", "axes exchanged", "grid", keep_crc(lambda r: store(r, r.stored, *r.shape[::-1])))


@TABLE.case(
    "R033", "records exchanged with their entries", field="rag", shard=1, sample=3, others=frozenset({4})
)
def _(cache: Cache) -> None:
    records = cache.field("rag").shards[1].records
    for ordinal, record in enumerate(records):
        record.crc = checksum(record, ordinal)
    cache.field("rag").shards[1].records = records[::-1]


@TABLE.case("R033", "a record twice", field="dense", shard=1, sample=4)
def _(cache: Cache) -> None:
    first = cache.record("dense", 3)
    store(cache.record("dense", 4), first.stored)
    cache.record("dense", 4).crc = checksum(first, 0)


@TABLE.case(
    "R033",
    "checksums without the key",
    field="dense",
    shard=1,
    sample=3,
    others=frozenset({4}),
    also=frozenset({"R050"}),
)
def _(cache: Cache) -> None:
    item = cache.field("dense")
    digest = bytes.fromhex(seal_shard(item, item.shards[1]).entry["body_blake3"])
    key = int.from_bytes(digest[:4] * 2, "little")

    def unkey(content: bytes) -> bytes:
        keyed = int.from_bytes(content[-8:], "little")
        return content[:-8] + (keyed ^ key).to_bytes(8, "little")

    item.shards[1].edit_file = unkey


# R034. rag is int16 and raw, so a shape that wraps in 64 bits stands for no bytes.
for shape in (3, 5, 0, 2**47 + 1, 2**48, 2**63 + 4, 2**64 - 1):
    add("R034", f"shape {shape}", "rag", lambda r, shape=shape: store(r, r.stored, shape))
for shape in (2**63, 2**62):
    add("R034", f"empty, shape {shape}", "rag", lambda r, shape=shape: store(r, b"", shape))
for of in ("jpeg", "title"):
    add("R034", "shape one more", of, lambda r: store(r, r.stored, r.shape[0] + 1))
    add("R034", "shape one less", of, lambda r: store(r, r.stored, r.shape[0] - 1))
    add("R034", "shape 0", of, lambda r: store(r, r.stored, 0))
    add("R034", "shape 2^64 - 1", of, lambda r: store(r, r.stored, 2**64 - 1))
for of in ("tokens", "blob", "caption"):
    for shape in (2**48 + 1, 2**62, 2**63, 2**64 - 1):
        add("R034", f"shape {shape}", of, lambda r, shape=shape: store(r, r.stored, shape))
for shape in ((0, 2**48 + 1), (2**49, 0), (2**32, 2**32), (2**63, 2), (2**64 - 1, 2**64 - 1), (5, 2**62)):
    add("R034", f"shape {shape}", "grid", lambda r, shape=shape: store(r, r.stored, *shape))


@TABLE.case("R034", "raw, two axes, 2^64 bytes", field="rag", shard=1, sample=LAST)
def _(cache: Cache) -> None:
    place = [item.name for item in cache.fields].index("rag")
    values = [np.zeros((sample, 2), "<i2") for sample in range(5)]
    cache.fields[place] = fill(Field("rag", "ragged", "int16", ndim=2), values, [3, 2])
    store(cache.record("rag", LAST), b"", 2**31, 2**32)


def bomb(record: Record, size: int, itemsize: int = 1) -> None:
    """A frame that promises `size` bytes and holds one empty block."""
    store(record, frame(blocks=block(b""), size=size, size_bytes=8), size // itemsize)


FRAME = 4 + 1 + 8 + 3
BOUND = FRAME * 32768
for of, itemsize in (("blob", 1), ("caption", 1), ("tokens", 4)):
    for name, size in {"an item over the bound": BOUND + itemsize, "1 GiB": 1 << 30, "2^48": 1 << 48}.items():
        add("R035", name, of, lambda r, size=size, itemsize=itemsize: bomb(r, size, itemsize))
add("R035", "something out of nothing", "blob", lambda r: store(r, b"", 1))
add("R035", "something out of nothing", "grid", lambda r: store(r, b"", 1, 1))


@TABLE.case("R035", "dense record out of an empty block", field="feat", shard=1, sample=LAST)
def _(cache: Cache) -> None:
    place = [item.name for item in cache.fields].index("feat")
    item = Field("feat", "dense", "float32", "zstd", shape=(1 << 18,))
    cache.fields[place] = fill(item, [np.zeros(1 << 18, "<f4")] * 5, [3, 2])
    store(cache.record("feat", LAST), frame(blocks=block(b""), size=1 << 20))


NOT_TEXT = {
    "a byte alone": b"\xff",
    "a continuation alone": b"\x80",
    "cut short": b"abc\xe2\x82",
    "overlong": b"\xc0\xaf",
    "overlong in three": b"\xe0\x80\xaf",
    "overlong NUL": b"\xc0\x80",
    "a surrogate": b"\xed\xa0\x80",
    "a pair of surrogates": b"\xed\xa0\x80\xed\xb0\x80",
    "over 10FFFF": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "wrong after long ASCII": b"a" * 100 + b"\xe9",
}
for name, content in NOT_TEXT.items():
    add("R038", name, "title", lambda r, c=content: store(r, c, len(c)))
    add("R038", name, "caption", lambda r, c=content: store(r, compress(c), len(c)))
add("R038", "a run", "caption", lambda r: store(r, frame(blocks=run_of(0x80, 5000), size=5000), 5000))
