"""A cache as a mutable model, written from the format's text alone.

`Cache.write` makes everything anew from the bottom up: record checksums, keys, body and index digests,
headers, lengths, chunk digests, the manifest and its digest. Each stage has a place where one value can be
overridden *before* what depends on it is made, so that a test breaks one rule and nothing else:

    Record.crc, .end, .ordinal    one entry of an index
    Shard.pad, .edit_body         a body before its digest
    Shard.edit_file               a shard's file after its header (Field.edit_dictionary, Cache.edit_metadata)
    Cache.edit_manifest           the manifest as a dict
    Cache.edit_text               its text, before the digest
    Cache.edit_final              its bytes, the digest included
    Cache.edit_disk               the directory when all is written
"""

from __future__ import annotations

import functools
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
from blake3 import blake3

HEADER_MAGIC = bytes.fromhex("89445352540d0a1a")
CHUNK = 4 << 20
FIXED, INDEXED, DICTIONARY = 1, 2, 3
ITEMSIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "complex64": 8,
    "complex128": 16,
}

Edit = Callable[[bytes], bytes]


@dataclass
class Record:
    """Stored bytes and shape of one record; the seal computes what is None."""

    stored: bytes
    shape: tuple[int, ...] = ()
    crc: int | None = None
    end: int | None = None
    ordinal: int | None = None


@dataclass
class Shard:
    """One field's file for a range of samples."""

    records: Sequence[Record]
    pad: bytes | None = None
    edit_body: Edit | None = None
    edit_file: Edit | None = None


@dataclass
class Field:
    """One field, its shards and the values its records stand for."""

    name: str
    kind: str
    dtype: str
    codec: str = "raw"
    shape: tuple[int, ...] = ()
    ndim: int = 1
    delta: int | None = None
    dictionary: bytes | None = None
    shards: list[Shard] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    edit_dictionary: Edit | None = None

    @property
    def fixed(self) -> bool:
        return self.kind == "dense" and self.codec == "raw"

    @property
    def entry_bytes(self) -> int:
        axes = {"dense": 0, "ragged": self.ndim}.get(self.kind, 1)
        return 4 if self.fixed else 12 + 8 * axes


@dataclass
class Sealed:
    """A finished file and what the manifest says of it."""

    content: bytes
    entry: dict[str, Any]


def header(kind: int, entry: int, count: int, length: int, digest: bytes) -> bytes:
    """The 64 bytes of section 2."""
    return HEADER_MAGIC + struct.pack("<HHIQQ", 1, kind, entry, count, length) + digest


def checksum(record: Record, ordinal: int) -> int:
    """c of section 4, before the key."""
    covered = record.stored + struct.pack(f"<{1 + len(record.shape)}Q", ordinal, *record.shape)
    return int(google_crc32c.value(covered))


def seal_shard(shape_of: Field, shard: Shard) -> Sealed:
    """Records, pad and index; the key comes from the digest of the body before it is applied."""
    stored = b"".join(record.stored for record in shard.records)
    pad = bytes(-len(stored) % 8) if shard.pad is None else shard.pad
    ends, crcs = _index(shard.records)
    plain = stored + pad + _entries(shape_of, shard.records, ends, crcs)
    if shard.edit_body is not None:
        plain = shard.edit_body(plain)
    digest = blake3(plain).digest()
    key = int.from_bytes(digest[:4], "little")
    keyed = _entries(shape_of, shard.records, ends, crcs ^ np.uint32(key))
    body = plain[: len(plain) - len(keyed)] + keyed if len(plain) >= len(keyed) else plain
    kind = FIXED if shape_of.fixed else INDEXED
    content = header(kind, shape_of.entry_bytes, len(shard.records), len(body), digest) + body
    entry: dict[str, Any] = {"bytes": len(content), "body_blake3": digest.hex()}
    if not shape_of.fixed:
        entry["index_blake3"] = blake3(keyed).hexdigest()
    if shard.edit_file is not None:
        content = shard.edit_file(content)
    return Sealed(content, entry)


def _index(records: Sequence[Record]) -> tuple[list[int], np.ndarray[Any, np.dtype[np.uint32]]]:
    if all(record is records[0] and record == Record(b"") for record in records):
        return [64] * len(records), _empty_crcs(len(records))
    ends, crcs, end = [], [], 64
    for ordinal, record in enumerate(records):
        end += len(record.stored)
        ends.append(end if record.end is None else record.end)
        place = ordinal if record.ordinal is None else record.ordinal
        crcs.append(checksum(record, place) if record.crc is None else record.crc)
    return ends, np.array(crcs, np.uint32)


@functools.cache
def _empty_crcs(count: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Checksums of empty dense records 0 .. count-1: CRC-32C of each ordinal, a byte a step over all."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0x82F63B78), table >> 1)
    ordinals = np.arange(count, dtype="<u8").view(np.uint8).reshape(count, 8)
    state = np.full(count, 0xFFFFFFFF, np.uint32)
    for column in range(8):
        state = table[(state ^ ordinals[:, column]) & 255] ^ state >> 8
    return ~state


def _entries(of: Field, records: Sequence[Record], ends: list[int], crcs: np.ndarray[Any, Any]) -> bytes:
    if of.fixed:
        return crcs.astype("<u4").tobytes()
    rows = zip(ends, crcs.tolist(), records, strict=True)
    return b"".join(
        struct.pack(f"<QI{len(record.shape)}Q", end, crc, *record.shape) for end, crc, record in rows
    )


@dataclass
class Cache:
    """A cache to be written; `metadata` is the file's bytes, of columns with these values and Arrow types."""

    name: str = "good"
    fields: list[Field] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    metadata: bytes | None = None
    columns: dict[str, list[Any]] = field(default_factory=dict)
    types: dict[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    edit_metadata: Edit | None = None
    edit_manifest: Callable[[dict[str, Any]], None] | None = None
    edit_text: Edit | None = None
    edit_final: Edit | None = None
    edit_disk: Callable[[Path], None] | None = None

    def field(self, name: str) -> Field:
        return next(item for item in self.fields if item.name == name)

    def record(self, name: str, sample: int) -> Record:
        """The record of a sample in a field, to be changed in place."""
        number, ordinal = self.place(sample)
        return self.field(name).shards[number].records[ordinal]

    def place(self, sample: int) -> tuple[int, int]:
        """(shard, ordinal) of a sample."""
        for number, count in enumerate(self.counts):
            if sample < count:
                return number, sample
            sample -= count
        raise IndexError(sample)

    def write(self, path: Path) -> None:
        """Makes everything anew and writes the directory `path`."""
        path.mkdir(parents=True)
        entries = [self._write_field(path / "fields", item) for item in self.fields]
        manifest = {
            "attributes": self.attributes,
            "fields": entries,
            "fingerprint": self.fingerprint,
            "format": 1,
            "metadata": self._write_metadata(path),
            "name": self.name,
            "samples": sum(self.counts),
            "shards": list(self.counts),
        }
        if self.edit_manifest is not None:
            self.edit_manifest(manifest)
        (path / "manifest.json").write_bytes(self._manifest_bytes(manifest))
        if self.edit_disk is not None:
            self.edit_disk(path)

    def _manifest_bytes(self, manifest: dict[str, Any]) -> bytes:
        text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
        if self.edit_text is not None:
            text = self.edit_text(text)
        content = b'{"digest":"' + blake3(text).hexdigest().encode() + b'",' + text[1:]
        return content if self.edit_final is None else self.edit_final(content)

    def _write_field(self, root: Path, item: Field) -> dict[str, Any]:
        folder = root / item.name
        folder.mkdir(parents=True, exist_ok=True)
        entry: dict[str, Any] = {
            "name": item.name,
            "kind": item.kind,
            "dtype": item.dtype,
            "codec": item.codec,
        }
        if item.kind == "dense":
            entry["shape"] = list(item.shape)
        if item.kind == "ragged":
            entry["ndim"] = item.ndim
        if item.delta is not None:
            entry["delta"] = item.delta
        if item.dictionary is not None:
            digest = blake3(item.dictionary).digest()
            content = header(DICTIONARY, 0, 0, len(item.dictionary), digest) + item.dictionary
            entry["dictionary"] = {"bytes": len(content), "body_blake3": digest.hex()}
            edited = content if item.edit_dictionary is None else item.edit_dictionary(content)
            (folder / "dictionary.bin").write_bytes(edited)
        sealed = [seal_shard(item, shard) for shard in item.shards]
        for number, file in enumerate(sealed):
            (folder / f"{number:05d}.shard").write_bytes(file.content)
        entry["files"] = [file.entry for file in sealed]
        return entry

    def _write_metadata(self, path: Path) -> dict[str, Any] | None:
        if self.metadata is None:
            return None
        content = self.metadata
        chunks = [blake3(content[at : at + CHUNK]).hexdigest() for at in range(0, len(content), CHUNK)]
        edited = content if self.edit_metadata is None else self.edit_metadata(content)
        (path / "metadata.arrow").write_bytes(edited)
        return {"bytes": len(content), "chunks": chunks}
