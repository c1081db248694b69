"""Bad caches that no forged case is: the rules that only a validator judges, and several problems at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3

from tests.rules.cases_keys import field_of
from tests.rules.forge import Cache, Field, Record, Shard, checksum, seal_shard
from tests.rules.frames import block, frame
from tests.rules.goods import fill, main, ramp
from tests.vectors import own_names
from tests.vectors.model import Bad, place

VECTORS: list[Bad] = list(own_names.VECTORS)
Edit = Callable[[Cache], object]


def add(
    rule: str, name: str, make: Callable[[], Cache], *problems: dict[str, Any], step: str | None, **more: Any
) -> None:
    VECTORS.append(Bad(rule, name, f"{name[0].upper()}{name[1:]}.", make, list(problems), step, **more))


def edited(edit: Edit, *keep: str) -> Callable[[], Cache]:
    """The main cache with a few of its fields, changed."""

    def make() -> Cache:
        cache = main()
        cache.fields = [item for item in cache.fields if item.name in keep]
        if "metadata" not in keep:
            cache.metadata, cache.columns, cache.types = None, {}, {}
        edit(cache)
        return cache

    return make


def replaced(cache: Cache, of: str, value: np.ndarray[Any, Any], whole_digest: bool) -> None:
    """Changes sample 4 in the file after its digest, its checksum with it: only the body's digest tells."""
    item = cache.field(of)
    shard = item.shards[1]
    content = value.tobytes()
    axes = () if item.kind == "dense" else value.shape
    old = shard.records[1]

    def edit(file: bytes) -> bytes:
        key = int.from_bytes(file[32:36], "little")
        at = 64 + len(shard.records[0].stored)
        entry = len(file) - item.entry_bytes + (0 if item.fixed else 8)
        crc = checksum(Record(content, axes), 1) ^ key
        file = file[:at] + content + file[at + len(old.stored) :]
        return file[:entry] + crc.to_bytes(4, "little") + file[entry + 4 :]

    item.values[4] = value
    if not whole_digest:
        index = edit(seal_shard(item, shard).content)[-2 * item.entry_bytes :]
        digest = blake3(index).hexdigest()
        cache.edit_manifest = lambda values: field_of(values, of)["files"][1].update(index_blake3=digest)
    shard.edit_file = edit


add(
    "R050",
    "a fixed record and its checksum changed together",
    edited(lambda cache: replaced(cache, "dense", ramp("<u2", (2, 3), 9), True), "dense"),
    place("R050", "dense", 1),
    step=None,
    may_refuse=["R050"],
)
add(
    "R050",
    "an indexed record, its checksum and the digest of the index changed together",
    edited(lambda cache: replaced(cache, "rag", ramp("<i2", (4,), 9), False), "rag"),
    place("R050", "rag", 1),
    step=None,
    may_refuse=["R050"],
)
add(
    "R050",
    "an indexed record and its checksum changed together",
    edited(lambda cache: replaced(cache, "rag", ramp("<i2", (4,), 9), True), "rag"),
    place("R039", "rag", 1),
    place("R050", "rag", 1),
    step=None,
    may_refuse=["R039", "R050"],
)


def pad(of: str, content: bytes) -> Edit:
    return lambda cache: setattr(cache.field(of).shards[1], "pad", content)


def damaged_pad(cache: Cache) -> None:
    """half: two records of 2 bytes, then 4 bytes of pad."""
    cache.field("half").shards[1].edit_file = lambda file: file[:68] + b"\1" + file[69:]


for name, edit, of in (
    ("fixed, pad not zero", pad("half", b"\1\2\3\4"), "half"),
    ("fixed, last byte of the pad not zero", pad("half", b"\0\0\0\x80"), "half"),
    ("indexed, pad not zero", pad("rag", b"\1\2"), "rag"),
    ("indexed, 16 bytes of pad too many", pad("rag", bytes(18)), "rag"),
    ("indexed, a hole before the index that is not zero", pad("rag", b"\7" * 18), "rag"),
):
    add("R051", name, edited(edit, of), place("R051", of, 1), step=None)
add(
    "R051",
    "pad damaged after its digest",
    edited(damaged_pad, "half"),
    place("R051", "half", 1),
    place("R050", "half", 1),
    step=None,
    may_refuse=["R050"],
)


def bools() -> Cache:
    """Bools of other bytes than 0 and 1, in each kind that can have them."""
    rows = [np.array(row, "u1") for row in ([0, 1, 1], [0, 2, 1], [1, 0, 255])]
    fields = [
        fill(Field("dense", "dense", "bool", shape=(3,)), rows, [2, 1]),
        fill(Field("packed", "dense", "bool", "zstd", shape=(3,)), rows, [2, 1]),
        fill(Field("rag", "ragged", "bool"), rows, [2, 1]),
    ]
    return Cache(name="bools", fields=fields, counts=[2, 1])


add(
    "R052",
    "bools of 2 and 255",
    bools,
    *(
        place("R052", of, shard, sample)
        for of in ("dense", "packed", "rag")
        for shard, sample in ((0, 1), (1, 2))
    ),
    step=None,
)


def files(*names: str) -> Edit:
    """Leaves files in the directory that the manifest does not name."""

    def write(path: Path) -> None:
        for name in names:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(b"not ours")

    return lambda cache: setattr(cache, "edit_disk", write)


UNKNOWN = {
    "a file beside the manifest": ["README"],
    "a shard too many": ["fields/rag/00002.shard"],
    "a shard's name with another number of digits": ["fields/rag/000000.shard"],
    "a dictionary that no codec asks for": ["fields/rag/dictionary.bin"],
    "metadata that the manifest does not name": ["metadata.arrow"],
    "a field that the manifest does not name": ["fields/other/00000.shard"],
    "files and directories everywhere": [
        "fields/notes.txt",
        "fields/rag/.00001.shard.tmp",
        "manifest.json.tmp",
        "notes/a.txt",
        "notes/b.txt",
    ],
}
for name, found in UNKNOWN.items():
    # A directory that does not belong is one problem, whatever is in it.
    count = len({path if path.startswith("fields/") else path.partition("/")[0] for path in found})
    add("R053", name, edited(files(*found), "rag"), *[place("R053")] * count, step=None)


def out_of_nothing() -> Cache:
    """A frame of 12 bytes that says it holds 1 MiB, which no frame so short may."""
    stored = frame(blocks=block(b""), size=1 << 20)
    shape = (1 << 18,)
    values = [np.zeros(shape, "<f4")]
    field = Field("x", "dense", "float32", "zstd", shape, shards=[Shard([Record(stored)])], values=values)
    return Cache(name="nothing", fields=[field], counts=[1])


add("R035", "a dense record out of an empty block", out_of_nothing, place("R035", "x", 0, 0), step="read")


def twins() -> Cache:
    """Two fields of one kind, their files exchanged."""
    rows = [ramp("<i4", (3,), start) for start in range(4)]
    fields = [
        fill(Field(name, "dense", "int32", shape=(3,)), found, [4])
        for name, found in (("a", rows), ("b", rows[::-1]))
    ]

    def exchange(path: Path) -> None:
        one, other = (path / "fields" / name / "00000.shard" for name in ("a", "b"))
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)

    return Cache(name="twins", fields=fields, counts=[4], edit_disk=exchange)


def of_twin(name: str) -> list[dict[str, Any]]:
    damaged = [place("R033", name, 0, sample) for sample in range(4)]
    return [place("R031", name, 0), place("R050", name, 0), *damaged]


add("R031", "the files of two fields exchanged", twins, *of_twin("a"), *of_twin("b"), step="read")


def many(cache: Cache) -> None:
    """Several things at once, each in a place of its own."""
    dense = cache.field("dense").shards
    dense[0].edit_file = lambda file: file[:64] + bytes([file[64] ^ 1]) + file[65:]
    dense[1].edit_file = lambda file: b"\x88" + file[1:]
    cache.record("title", 2).stored, cache.record("title", 2).shape = b"\xff", (1,)
    cache.record("rag", 4).shape = (3,)
    cache.edit_metadata = lambda content: content[:100] + b"\xa5" + content[101:]
    files("fields/rag/old")(cache)


add(
    "R033",
    "several problems in one cache",
    edited(many, "dense", "rag", "title", "metadata"),
    place("R050", "dense", 0),
    place("R033", "dense", 0, 0),
    place("R031", "dense", 1),
    place("R034", "rag", 1, 4),
    place("R038", "title", 0, 2),
    place("R041"),
    place("R053"),
    step="read",
)
