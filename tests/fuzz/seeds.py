"""The first inputs of every target, out of the published vectors: `python -m tests.fuzz.seeds FOLDER`.

What fuzzing finds from them on is merged into the corpus, as docs/why/fuzzing.md says.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import google_crc32c

from dsrt_format import Manifest
from dsrt_format.checksum import blake3_digest, record_key
from dsrt_format.entries import Field
from dsrt_format.errors import DsrtError

from .given import CODECS, DTYPES, HEADER, KINDS

LARGEST = 8192
"""Inputs that are larger slow fuzzing down."""


def inputs() -> Iterator[tuple[str, bytes]]:
    """Yields target and input."""
    vectors = Path(str(files("dsrt_format") / "vectors"))
    for path in sorted(vectors.glob("*/*/**/manifest.json")):
        yield "manifest", path.read_bytes()
        try:
            manifest = Manifest.load(path.parent)
        except DsrtError:
            continue
        yield from _of_cache(path.parent, manifest)
    yield "journal", journal()


def _of_cache(cache: Path, manifest: Manifest) -> Iterator[tuple[str, bytes]]:
    metadata = cache / "metadata.arrow"
    if metadata.is_file():
        yield "metadata", struct.pack("<I", manifest.num_samples) + metadata.read_bytes()
    for field in manifest.fields:
        dictionary = cache / field.dictionary_name
        body = dictionary.read_bytes()[HEADER:] if dictionary.is_file() else b""
        if max(field.shape or (0,)) > 255:
            continue
        for shard, count in enumerate(manifest.shards):
            path = cache / field.file_name(shard)
            if path.is_file() and path.stat().st_size == field.files[shard].bytes and count <= 16:
                yield from _of_shard(_described(field, body), field, shard, path.read_bytes(), count)


def _described(field: Field, dictionary: bytes) -> bytes:
    axes = len(field.shape) if field.shape is not None else field.ndim or 0
    head = bytes(
        [
            KINDS.index(field.kind),
            DTYPES.index(field.dtype),
            CODECS.index(field.codec),
            field.delta or 0,
            axes,
            *(field.shape or ()),
        ]
    )
    return head + (struct.pack("<H", len(dictionary)) + dictionary if field.dictionary else b"")


def _of_shard(
    described: bytes, field: Field, shard: int, content: bytes, count: int
) -> Iterator[tuple[str, bytes]]:
    key = record_key(bytes.fromhex(field.files[shard].body_blake3))
    width = field.entry_bytes
    start = len(content) - count * width
    index, low = b"", HEADER
    for ordinal in range(count):
        entry = bytearray(content[start + ordinal * width :][:width])
        at = 0 if width == 4 else 8
        (crc,) = struct.unpack_from("<I", entry, at)
        struct.pack_into("<I", entry, at, crc ^ key)
        index += entry
        high = low + field.stride if width == 4 else int.from_bytes(entry[:8], "little")
        if HEADER <= low <= high <= start:
            yield "record", described + entry[12:] + content[low:high]
        low = high
    # With the checksums of the file, and with right ones.
    for flags in (2, 3):
        yield "index", described + bytes([count - 1, 0, flags]) + index + content[HEADER:start]


def journal() -> bytes:
    """A journal as a writer leaves it: plan, two shards, and what is about to be published."""
    digest = "0123456789abcdef" * 4
    spill = {"blake3": digest, "bytes": 800}
    kept = [
        {"body_blake3": digest, "bytes": 1096, "index_blake3": None},
        {"body_blake3": digest, "bytes": 180, "index_blake3": digest},
    ]
    lines: list[object] = [
        {
            "attributes": {"note": "größe\n", "mean": [0.5, 1e-3]},
            "fields": [{"codec": "zstd", "dtype": "uint8", "kind": "text", "level": 3, "name": "x"}],
            "fingerprint": "git:1a2b3c",
            "metadata": [["label", "int64"], ["when", "timestamp[us, UTC]"]],
            "name": "demo",
            "samples_per_shard": 1048576,
            "shard_bytes": 268435456,
            "trained": {"x": {"body_blake3": digest, "bytes": 128, "index_blake3": None}},
            "versions": {"arrow": "60.1.0", "journal": 1, "writer": "0.1.0", "zstd": "1.5.7"},
        },
        {"files": kept, "samples": 3, "spill": spill},
        {"files": kept[:1], "samples": 2, "spill": None},
        {"published": digest},
    ]
    return b"".join(_line(line) for line in lines)


def _line(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    return b"%08x %s\n" % (google_crc32c.value(text), text)


def main(folder: Path) -> None:
    """Writes each input into the folder of its target, called by its digest."""
    for target, data in inputs():
        if len(data) <= LARGEST:
            (folder / target).mkdir(parents=True, exist_ok=True)
            (folder / target / blake3_digest(data).hex()[:16]).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
