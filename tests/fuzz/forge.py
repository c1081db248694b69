"""Caches out of inputs, with digests that are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dsrt_format.checksum import blake3_digest, record_key
from dsrt_format.entries import CHUNK_BYTES, MAX_SHARD_SAMPLES
from dsrt_format.header import FileType, build_header

from .given import HEADER, Given, Shard, shard_of_index, shard_of_record

PREFIX = 77


def write(target: str, data: bytes, root: Path) -> bool:
    """Writes the cache that an input of a target stands for into `root`. False where it stands for none."""
    (root / "fields/x").mkdir(parents=True, exist_ok=True)
    for name in ("manifest.json", "metadata.arrow", "fields/x/dictionary.bin", "fields/x/00000.shard"):
        # Another file and not another content, should anybody still have it open.
        (root / name).unlink(missing_ok=True)
    if target == "manifest":
        return _manifest(data, root)
    if target == "metadata":
        return _metadata(data, root)
    shard = shard_of_index(data) if target == "index" else shard_of_record(data)
    if shard.is_possible:
        _shard(shard, root)
    return shard.is_possible


def _manifest(data: bytes, root: Path) -> bool:
    if len(data) >= PREFIX:
        data = data[:11] + blake3_digest(b"{" + data[PREFIX:]).hex().encode() + data[75:]
    (root / "manifest.json").write_bytes(data)
    return True


def _metadata(data: bytes, root: Path) -> bool:
    given = Given(data)
    samples = given.number(4) % (MAX_SHARD_SAMPLES + 1)
    content = given.rest
    if not content:
        return False
    (root / "metadata.arrow").write_bytes(content)
    field = {"name": "x", "kind": "dense", "dtype": "uint8", "codec": "raw", "shape": [0], "files": []}
    if samples:
        length = HEADER + 4 * samples
        with (root / "fields/x/00000.shard").open("wb") as file:
            file.truncate(length)
        field["files"] = [{"bytes": length, "body_blake3": bytes(32).hex()}]
    pieces = (content[at : at + CHUNK_BYTES] for at in range(0, len(content), CHUNK_BYTES))
    chunks = [blake3_digest(piece).hex() for piece in pieces]
    _seal(root, samples, field, {"bytes": len(content), "chunks": chunks})
    return True


def _shard(shard: Shard, root: Path) -> None:
    field = shard.field
    digest = blake3_digest(shard.area + shard.index(0))
    index = shard.index(record_key(digest))
    kind = FileType.FIXED if shard.fixed else FileType.INDEXED
    length = len(shard.area) + len(index)
    header = bytearray(build_header(kind, field.entry_bytes, len(shard.entries), length, digest))
    if shard.flipped:
        header[shard.flipped - 1] ^= 0xFF
    (root / "fields/x/00000.shard").write_bytes(header + shard.area + index)
    file: dict[str, Any] = {"bytes": HEADER + length, "body_blake3": digest.hex()}
    if not shard.fixed:
        file["index_blake3"] = (blake3_digest(index) if shard.right_index else digest).hex()
    entry: dict[str, Any] = {
        "name": "x",
        "kind": field.kind,
        "dtype": field.dtype,
        "codec": field.codec,
        "files": [file],
    }
    if field.shape is not None:
        entry["shape"] = list(field.shape)
    if field.ndim is not None:
        entry["ndim"] = field.ndim
    if field.delta is not None:
        entry["delta"] = field.delta
    if shard.dictionary is not None:
        body = shard.dictionary
        proof = blake3_digest(body)
        head = build_header(FileType.DICTIONARY, 0, 0, len(body), proof)
        (root / "fields/x/dictionary.bin").write_bytes(head + body)
        entry["dictionary"] = {"bytes": HEADER + len(body), "body_blake3": proof.hex()}
    _seal(root, len(shard.entries), entry, None)


def _seal(root: Path, samples: int, field: dict[str, Any], metadata: dict[str, Any] | None) -> None:
    manifest = {
        "attributes": {},
        "fields": [field],
        "fingerprint": None,
        "format": 1,
        "metadata": metadata,
        "name": "x",
        "samples": samples,
        "shards": [samples] if samples else [],
    }
    text = json.dumps(manifest, separators=(",", ":")).encode()
    digest = blake3_digest(text).hex().encode()
    (root / "manifest.json").write_bytes(b'{"digest":"' + digest + b'",' + text[1:])
