"""The checksums and digests of a forged directory, checked by themselves.

It answers one question about a forged case: does it break a checksum, length or digest that it did not mean
to? Without it a case of a later rule could pass because an earlier one refuses the cache.
"""

from __future__ import annotations

import json
import math
import re
import struct
from pathlib import Path
from typing import Any

from blake3 import blake3

from .forge import CHUNK, DICTIONARY, FIXED, INDEXED, ITEMSIZES, Field, Record, checksum, header


def broken(path: Path) -> set[str]:
    """The ids of R002, R003, R030, R031, R033, R039, R040 and R041 that do not hold, by the format's text."""
    content = (path / "manifest.json").read_bytes()
    if not re.match(rb'\{"digest":"[0-9a-f]{64}",', content):
        return {"R002"}
    if blake3(b"{" + content[77:]).hexdigest().encode() != content[11:75]:
        return {"R003"}
    try:
        manifest = json.loads(content)
    except (ValueError, RecursionError):
        return set()
    found = _metadata(path, manifest.get("metadata"))
    for entry in manifest["fields"] if isinstance(manifest.get("fields"), list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and "\0" not in entry["name"]:
            found |= _field(path / "fields" / entry["name"], entry, manifest.get("shards"))
    return found


def _regular(path: Path, size: object) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size == size else None
    except OSError:
        return None


def _metadata(path: Path, entry: Any) -> set[str]:
    if not isinstance(entry, dict) or not isinstance(entry.get("chunks"), list):
        return set()
    content = _regular(path / "metadata.arrow", entry.get("bytes"))
    if content is None:
        return {"R030"}
    chunks = [blake3(content[at : at + CHUNK]).hexdigest() for at in range(0, len(content), CHUNK)]
    return set() if chunks == entry["chunks"] else {"R041"}


def _field(folder: Path, entry: dict[str, Any], counts: Any) -> set[str]:
    found: set[str] = set()
    dictionary = entry.get("dictionary")
    if isinstance(dictionary, dict) and isinstance(dictionary.get("body_blake3"), str):
        content = _regular(folder / "dictionary.bin", dictionary.get("bytes"))
        digest = dictionary["body_blake3"]
        if content is None:
            found.add("R030")
        elif content[:64].hex() != header(DICTIONARY, 0, 0, len(content) - 64, b"").hex() + digest:
            found.add("R031")
        elif blake3(content[64:]).hexdigest() != digest:
            found.add("R040")
    try:
        item = Field(entry["name"], entry["kind"], entry["dtype"], entry["codec"], ndim=entry.get("ndim", 1))
        pairs = list(zip(entry["files"], counts, strict=True))
        for number, (file, count) in enumerate(pairs):
            found |= _shard(folder / f"{number:05d}.shard", item, file, count, entry.get("shape", []))
    except (KeyError, TypeError, ValueError, struct.error, OverflowError):
        return found  # the manifest says something that stands for no file
    return found


def _shard(path: Path, item: Field, file: dict[str, Any], count: int, shape: list[int]) -> set[str]:
    content = _regular(path, file["bytes"])
    if content is None:
        return {"R030"}
    digest = bytes.fromhex(file["body_blake3"])
    kind = FIXED if item.fixed else INDEXED
    if content[:64] != header(kind, item.entry_bytes, count, len(content) - 64, digest):
        return {"R031"}
    index = len(content) - count * item.entry_bytes
    found = set()
    if "index_blake3" in file and blake3(content[index:]).hexdigest() != file["index_blake3"]:
        found.add("R039")
    key = int.from_bytes(digest[:4], "little")
    stored = ITEMSIZES[item.dtype] * math.prod(shape)
    begin = 64
    for ordinal in range(min(count, 100)):
        entry = content[index + ordinal * item.entry_bytes :][: item.entry_bytes]
        if item.fixed:
            record, crc = Record(content[64 + ordinal * stored :][:stored]), struct.unpack("<I", entry)[0]
        else:
            end, crc, *axes = struct.unpack(f"<QI{item.entry_bytes // 8 - 1}Q", entry)
            record, begin = Record(content[begin:end], tuple(axes)), end
            if not 64 <= end <= index:
                break
        if checksum(record, ordinal) ^ key != crc:
            found.add("R033")
    return found
