"""Forged records: indexes, stored bytes, frames and dictionaries that no writer makes, well digested."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.faults.forged_numbers import NUMBERS, Done
from tests.rules import frames
from tests.rules.forge import Cache, Field, Record


def _record(random: Random, cache: Cache, want: Callable[[Field], bool]) -> tuple[str, Field, Record] | None:
    fields = [field for field in cache.fields if want(field)]
    if not fields:
        return None
    field = random.choice(fields)
    shard = random.randrange(len(field.shards))
    ordinal = random.randrange(len(field.shards[shard].records))
    return f"{field.name} shard {shard} record {ordinal}", field, field.shards[shard].records[ordinal]


def entry(random: Random, cache: Cache) -> Done | None:
    """An index entry with an absurd end or shape, its checksum right for them."""
    found = _record(random, cache, lambda field: not field.fixed)
    if found is None:
        return None
    where, _, record = found
    number = random.choice(NUMBERS)
    if record.shape and random.random() < 0.6:
        axis = random.randrange(len(record.shape))
        record.shape = (*record.shape[:axis], number, *record.shape[axis + 1 :])
        return "shape", "index", [f"{where}: axis {axis} is {number}"]
    before = 64 + random.choice([0, len(record.stored), 8])
    record.end = random.choice([number, before])
    return "range", "index", [f"{where}: ends at {record.end}"]


def misplaced(random: Random, cache: Cache) -> Done | None:
    """A record whose checksum is that of another ordinal, or of nothing."""
    found = _record(random, cache, lambda field: True)
    assert found is not None
    where, _, record = found
    if random.random() < 0.5:
        record.ordinal = random.randrange(8)
        return "ordinal", "index", [f"{where}: checksum for ordinal {record.ordinal}"]
    record.crc = random.getrandbits(32)
    return "checksum", "index", [f"{where}: checksum {record.crc:08x}"]


def stored(random: Random, cache: Cache) -> Done | None:
    """Stored bytes that are damaged before their checksum is made: frames, and texts that are no UTF-8."""
    found = _record(random, cache, lambda field: not field.fixed)
    if found is None:
        return None
    where, field, record = found
    data = bytearray(record.stored)
    way = random.choice(["flip", "flip", "head", "cut", "tail", "twice", "byte"])
    if way in ("flip", "byte") and data:
        for _ in range(random.choice([1, 1, 2, 8])):
            at = random.randrange(len(data))
            data[at] = random.randrange(256) if way == "byte" else data[at] ^ 1 << random.randrange(8)
    elif way == "head":
        at = random.randrange(min(14, len(data))) if data else 0
        data[at : at + 1] = bytes([random.choice([0, 0xFF, 0x80, random.randrange(256)])])
    elif way == "cut":
        del data[random.randrange(len(data) + 1) :]
    elif way == "tail":
        data += random.choice([bytes(1), b"\x50\x2a\x4d\x18\0\0\0\0", frames.compress(b"")])
    elif way == "twice":
        data = data * 2
    record.stored = bytes(data)
    if field.codec == "raw" and field.kind in ("bytes", "text") and random.random() < 0.8:
        record.shape = (len(data),)
    return "stored bytes", "payload", [f"{where}: {way} {bytes(data)[:40].hex()}"]


def bomb(random: Random, cache: Cache) -> Done | None:
    """A frame of few bytes that expands as far as frames can, or claims to."""
    found = _record(random, cache, lambda field: field.codec != "raw" and field.kind != "dense")
    if found is None:
        return None
    where, field, record = found
    size = random.choice([1 << 17, 1 << 20, 1 << 24, (1 << 24) + 1])
    claimed = random.choice([size, size, size + 1, size * 8, 2**32, 2**40, 2**47, 2**63, 2**64 - 1])
    blocks = frames.run_of(random.choice([0, 65, 255]), size)
    if random.random() < 0.3:  # blocks that hold little, however much the header says
        blocks = random.choice([frames.block(b"abc"), frames.block(b""), blocks[: len(blocks) // 2]])
    if random.random() < 0.3:  # enough stored bytes for the bound
        blocks = frames.block(bytes(40000), last=False) + blocks
    record.stored = frames.frame(
        blocks=blocks, size=claimed % 2**64, size_bytes=8, window=random.choice([None, 0, 0x50, 0x88, 0xFF])
    )
    itemsize = {"int32": 4}.get(field.dtype, 1)
    record.shape = (*(1 for _ in record.shape[1:]), claimed // itemsize)
    return "bomb", "payload", [f"{where}: {len(record.stored)} bytes claim {claimed}, blocks hold {size}"]


def dictionary(random: Random, cache: Cache) -> Done | None:
    """A dictionary that does not load, or is another."""
    fields = [field for field in cache.fields if field.dictionary is not None]
    if not fields:
        return None
    field = random.choice(fields)
    assert field.dictionary is not None
    data = bytearray(field.dictionary)
    way = random.choice(["flip", "head", "magic", "cut", "empty", "grown", "huge"])
    if way in ("flip", "head"):
        for _ in range(random.choice([1, 1, 4])):
            at = random.randrange(len(data) if way == "flip" else min(200, len(data)))
            data[at] ^= 1 << random.randrange(8)
    elif way == "magic":
        data[:4] = bytes.fromhex("37a430ec")
    elif way == "cut":
        del data[random.randrange(8, len(data)) :]
    elif way == "empty":
        del data[random.choice([0, 4, 7, 8]) :]
    else:
        data += random.randbytes(1000) if way == "grown" else bytes(2**20)
    field.dictionary = bytes(data)
    return "dictionary", "dictionary", [f"{field.name}: {way}, {len(data)} bytes"]
