"""R030, R031, R039, R040: the files are there, are this build's, and their digests hold."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blake3 import blake3

from .case import Break, Table, disk, manifest
from .cases_keys import field_of
from .forge import Cache, Edit, seal_shard
from .frames import frame, train
from .goods import fill, main

OPEN = Table("open")
READ = Table("read")
LENGTHS = Table("lengths")


def replace(file: Path, by: Callable[[Path], object]) -> None:
    file.unlink()
    by(file)


def extend(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0")


def truncate(size: int | None = None) -> Callable[[Path], object]:
    return lambda file: os.truncate(file, file.stat().st_size - 1 if size is None else size)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "a byte short": truncate(),
    "empty": truncate(0),
    "a byte long": extend,
    "a directory": lambda file: replace(file, Path.mkdir),
    "a FIFO": lambda file: replace(file, os.mkfifo),
    "a dangling link": lambda file: replace(file, lambda path: path.symlink_to("nowhere")),
    "a link to itself": lambda file: replace(file, lambda path: path.symlink_to(path.name)),
    "a device": lambda file: replace(file, lambda path: path.symlink_to("/dev/null")),
}
FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "fixed shard": ("fields/dense/00001.shard", {"field": "dense", "shard": 1}),
    "indexed shard": ("fields/rag/00000.shard", {"field": "rag", "shard": 0}),
    "dictionary": ("fields/tokens/dictionary.bin", {"field": "tokens"}),
    "metadata": ("metadata.arrow", {}),
}
for label, (relative, where) in FILES.items():
    for name, damage in DAMAGE.items():
        edit = disk(lambda path, relative=relative, damage=damage: damage(path / relative))
        OPEN.add("R030", f"{label} {name}", edit, **where)


@OPEN.case("R030", "a field's directory missing", field="rag", shard=0)
def _(cache: Cache) -> None:
    cache.edit_disk = lambda path: (path / "fields/rag").rename(path / "fields/gar")


@OPEN.case("R030", "all fields missing", field="dense", shard=0)
def _(cache: Cache) -> None:
    cache.edit_disk = lambda path: (path / "fields").rename(path / "felder")


@OPEN.case("R030", "dictionary missing without samples", field="tokens")
def _(cache: Cache) -> None:
    cache.counts, cache.metadata = [], None
    for item in cache.fields:
        item.shards = []
    cache.edit_disk = lambda path: (path / "fields/tokens/dictionary.bin").unlink()


# Each number of the header: the place, and a value that would be right elsewhere or stands one beside.
HEADER: dict[str, tuple[int, bytes]] = {
    "magic, first byte": (0, b"\x88"),
    "magic, line end": (5, b"\n"),
    "format": (8, struct.pack("<H", 2)),
    "type": (10, struct.pack("<H", 4)),
    "entry": (12, struct.pack("<I", 8)),
    "count": (16, struct.pack("<Q", 7)),
    "length": (24, struct.pack("<Q", 8)),
    "digest, first byte": (32, b"\xee\xee"),
    "digest, last byte": (62, b"\xee\xee"),
}


def put(place: int, new: bytes) -> Edit:
    return lambda content: content[:place] + new + content[place + len(new) :]


def in_shard(of: str, edit: Edit) -> Break:
    """Changes the second shard's file after everything; its length stays."""

    def change(cache: Cache) -> None:
        cache.field(of).shards[1].edit_file = edit

    return change


def in_dictionary(edit: Edit) -> Break:
    def change(cache: Cache) -> None:
        cache.field("tokens").edit_dictionary = edit

    return change


def shard_case(rule: str, name: str, of: str, change: Break, **where: Any) -> None:
    """A case in the second shard of a field, met first by sample 3."""
    READ.add(rule, name, change, **({"field": of, "shard": 1, "sample": 3} | where))


for name, (place, new) in HEADER.items():
    edit = put(place, new)
    shard_case("R031", f"fixed, {name}", "dense", in_shard("dense", edit))
    shard_case("R031", f"indexed, {name}", "rag", in_shard("rag", edit))
    READ.add("R031", f"dictionary, {name}", in_dictionary(edit), field="tokens")

# A reader that takes its key from another digest finds wrong checksums, too: a validator may say so.
STALE = {"also": frozenset({"R033", "R039", "R050"})}
BUILD = blake3(b"another build").hexdigest()
for of in ("dense", "rag"):
    edit = manifest(lambda values, of=of: field_of(values, of)["files"][1].update(body_blake3=BUILD))
    shard_case("R031", f"{of}, the manifest names another body", of, edit, **STALE)


@READ.case("R031", "two shards exchanged", field="dense", base=lambda: main((2, 2)), sample=2, **STALE)
def _(cache: Cache) -> None:
    def exchange(path: Path) -> None:
        folder = path / "fields/dense"
        (folder / "00000.shard").rename(folder / "x")
        (folder / "00001.shard").rename(folder / "00000.shard")
        (folder / "x").rename(folder / "00001.shard")

    cache.edit_disk = exchange


def rebuilt(of: str, keep: int) -> Break:
    """The shard of another build, as long as ours; the first `keep` bytes are ours still."""

    def change(cache: Cache) -> None:
        ours = cache.field(of)
        twin = main().field(of)
        values = [cache.field(of).values[place] for place in (2, 1, 0, 4, 3)]
        other = seal_shard(twin, fill(twin, values, cache.counts).shards[1])
        ours.shards[1].edit_file = lambda content: content[:keep] + other.content[keep:]

    return change


DEEP = {"also": frozenset({"R039", "R050"}), "others": frozenset({4})}
for of in ("dense", "rag", "caption"):
    shard_case("R031", f"{of}, the shard of another build", of, rebuilt(of, 0), **STALE)
for of in ("dense", "rag"):
    shard_case("R033", f"{of}, another build under our header", of, rebuilt(of, 64), **DEEP)

for of in ("rag", "grid", "tokens", "jpeg", "blob", "title", "caption"):
    edit = manifest(lambda values, of=of: field_of(values, of)["files"][1].update(index_blake3=BUILD))
    LENGTHS.add("R039", f"{of}, digest of another index", edit, field=of, shard=1)


@LENGTHS.case("R039", "digest of the index without key", field="rag", shard=1)
def _(cache: Cache) -> None:
    def plain(values: dict[str, Any]) -> None:
        item = cache.field("rag")
        sealed = seal_shard(item, item.shards[1])
        index = sealed.content[-40:]
        key = bytes.fromhex(sealed.entry["body_blake3"])[:4]
        unkeyed = b""
        for at in (0, 20):
            crc = bytes(a ^ b for a, b in zip(index[at + 8 : at + 12], key, strict=True))
            unkeyed += index[at : at + 8] + crc + index[at + 12 : at + 20]
        field_of(values, "rag")["files"][1].update(index_blake3=blake3(unkeyed).hexdigest())

    cache.edit_manifest = plain


def dictionary_digest(content: bytes) -> bytes:
    """A header that holds another digest, as the manifest does in that case."""
    return content[:32] + bytes.fromhex(BUILD) + content[64:]


@READ.case("R040", "dictionary of another digest", field="tokens")
def _(cache: Cache) -> None:
    cache.field("tokens").edit_dictionary = dictionary_digest
    cache.edit_manifest = lambda values: field_of(values, "tokens")["dictionary"].update(body_blake3=BUILD)


READ.add("R040", "one bit of the dictionary", in_dictionary(put(64, b"\x01")), field="tokens")
READ.add(
    "R040", "last byte of the dictionary", in_dictionary(lambda content: content[:-1] + b"?"), field="tokens"
)


def trained() -> bytes:
    """A dictionary with entropy tables."""
    return train([b"sample %d of a corpus of %d words" % (number, number * 7) for number in range(400)], 1024)


def unloadable(body: Callable[[], bytes]) -> Break:
    """A dictionary whose digest is right, and frames that do not need it."""

    def change(cache: Cache) -> None:
        item = cache.field("tokens")
        item.dictionary = body()
        for sample, value in enumerate(item.values):
            cache.record("tokens", sample).stored = frame(value.tobytes())

    return change


MAGIC = bytes.fromhex("37a430ec")
for name, body in {
    "trained dictionary, magic and zeros": lambda: MAGIC + bytes(60),
    "trained dictionary, magic and id alone": lambda: MAGIC + b"\x01\0\0\0",
    "trained dictionary cut in its tables": lambda: trained()[:60],
    "trained dictionary, tables overwritten": lambda: trained()[:8] + b"\xff" * 64 + trained()[72:],
}.items():
    READ.add("R040", name, unloadable(body), field="tokens")
