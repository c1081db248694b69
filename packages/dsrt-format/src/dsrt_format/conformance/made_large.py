"""Vectors that are too large to ship, or have too many files."""

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from dsrt_format.arrow_file import BATCH_ROWS
from dsrt_format.checksum import blake3_digest
from dsrt_format.conformance.expectation import (
    Expected,
    Record,
    column_digest,
    field_digest,
    problem,
    refused,
    stored,
)
from dsrt_format.dictionary import build_dictionary
from dsrt_format.directory import MAX_MANIFEST_BYTES
from dsrt_format.entries import (
    CHUNK_BYTES,
    MAX_SHARD_SAMPLES,
    METADATA_NAME,
    Field,
    MetadataFile,
    ShardFile,
)
from dsrt_format.header import HEADER_BYTES
from dsrt_format.manifest import Manifest
from dsrt_format.metadata import MetadataWriter
from dsrt_format.shard import StoredRecord, build_shard

__all__ = ["LARGE"]

_X = Field("x", "dense", "uint8", "raw", (), shape=())
_VOID = replace(_X, shape=(0,))
_ROWS = 262_144 + 2
_MOST = 1000


def _write(path: Path, manifest: Manifest, files: dict[str, bytes]) -> Manifest:
    """Write a directory and return the manifest with its digest."""
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    sealed = manifest.sealed()
    (path / "manifest.json").write_bytes(sealed.to_bytes())
    return sealed


def _one_shard(path: Path, field: Field, records: Sequence[StoredRecord], **more: bytes) -> Manifest:
    """Write a cache of one field in one shard."""
    content, entry = build_shard(field, records)
    field = replace(field, files=(entry,))
    manifest = Manifest("made", len(records), (len(records),), (field,))
    return _write(path, manifest, {field.file_name(0): content, **more})


def _good(manifest: Manifest, **fields: Iterable[Record]) -> Expected:
    """Return the expectation of a good cache, its fields as digests."""
    return {
        "samples": manifest.num_samples,
        "cache_id": manifest.cache_id,
        "fields": {name: {"blake3": field_digest(records)} for name, records in fields.items()},
        "columns": {},
    }


def _manifest_of(length: int, path: Path) -> Manifest:
    """Write a cache of one record whose manifest has so many bytes, most of them blanks at its end."""
    manifest = _one_shard(path, _X, [(b"\x07", ())])
    content = manifest.to_bytes()
    content += b" " * (length - len(content))
    digest = blake3_digest(b"{" + content[77:]).hex()
    (path / "manifest.json").write_bytes(content[:11] + digest.encode() + content[75:])
    return replace(manifest, digest=digest)


def manifest_of_64_mib(path: Path) -> Expected:
    """A manifest may have 64 MiB."""
    manifest = _manifest_of(MAX_MANIFEST_BYTES, path)
    return _good(manifest, x=[((), b"\x07")])


def manifest_over_64_mib(path: Path) -> Expected:
    """And not a byte more."""
    _manifest_of(MAX_MANIFEST_BYTES + 1, path)
    return refused("open", problem("R001", "manifest"))


def full_shard(path: Path) -> Expected:
    """A shard may have 2^20 samples."""
    manifest = _one_shard(path, _VOID, [(b"", ())] * MAX_SHARD_SAMPLES)
    records = (((0,), b"") for _ in range(MAX_SHARD_SAMPLES))
    return _good(manifest, x=records)


def overfull_shard(path: Path) -> Expected:
    """And not one more. The file is as long as it would be; nobody should look into it."""
    count = MAX_SHARD_SAMPLES + 1
    content = bytes(HEADER_BYTES + 4 * count)
    field = replace(_VOID, files=(ShardFile(len(content), bytes(32).hex()),))
    _write(path, Manifest("made", count, (count,), (field,)), {field.file_name(0): content})
    return refused("open", problem("R010", "manifest", shard=0))


def many_fields(path: Path) -> Expected:
    """A cache may have 256 fields."""
    fields, files = [], {}
    for number in range(256):
        field = replace(_X, name=f"f{number}")
        files[field.file_name(0)], entry = build_shard(field, [(bytes([number]), ())])
        fields.append(replace(field, files=(entry,)))
    manifest = _write(path, Manifest("made", 1, (1,), tuple(fields)), files)
    values = {f"f{number}": [((), bytes([number]))] for number in range(256)}
    return _good(manifest, **values)


def many_problems(path: Path) -> Expected:
    """A validator lists 1,000 problems of a rule and says how many more there are."""
    records: list[StoredRecord] = [(b"\x80", (1,)) for _ in range(_MOST + 500)]
    _one_shard(path, Field("t", "text", "uint8", "raw", ()), records)
    listed = [problem("R038", "record", field="t", shard=0, sample=sample) for sample in range(_MOST)]
    return refused(
        "read",
        *listed,
        problem("R038", "record"),
        readable={"samples": len(records), "fields": {"t": stored([None] * len(records))}},
    )


def _with_dictionary(path: Path, body: bytes) -> Manifest:
    content, entry = build_dictionary(body)
    # A frame of one raw block: magic, descriptor, content size, block header, content.
    frame = bytes.fromhex("28b52ffd20") + b"\x03" + (3 << 3 | 1).to_bytes(3, "little") + b"abc"
    field = Field("b", "bytes", "uint8", "zstd-dict", (), dictionary=entry)
    return _one_shard(path, field, [(frame, (3,))], **{field.dictionary_name: content})


def largest_dictionary(path: Path) -> Expected:
    """A dictionary may have 1 MiB."""
    return _good(_with_dictionary(path, bytes(range(256)) * 4096), b=[((3,), b"abc")])


def dictionary_too_large(path: Path) -> Expected:
    """And not a byte more."""
    _with_dictionary(path, bytes((1 << 20) + 1))
    return refused("open", problem("R019", "manifest", field="b"))


def wrapped_length(path: Path) -> Expected:
    """2^16 records of 2^48 bytes are 2^64 bytes: in 64 bits only their checksums are left."""
    content = bytes(HEADER_BYTES + (4 << 16))
    field = replace(_X, shape=(2**48,), files=(ShardFile(len(content), bytes(32).hex()),))
    _write(path, Manifest("made", 1 << 16, (1 << 16,), (field,)), {field.file_name(0): content})
    return refused("open", problem("R021", "manifest", field="x", shard=0))


def _tall(path: Path, rows: int) -> tuple[Manifest, Expected]:
    """Write 262,146 empty records with so many rows of metadata: two batches, and two chunks of 4 MiB."""
    numbers = [row * 37 for row in range(rows)]
    words = [None if row % 5 == 0 else f"row {row} " * (row % 3) for row in range(rows)]
    writer = MetadataWriter({"number": "int64", "word": "string"})
    for row in zip(numbers, words, strict=True):
        writer.append(row)
    content, entry = writer.finish()
    shard, file = build_shard(_VOID, [(b"", ())] * _ROWS)
    field = replace(_VOID, files=(file,))
    files = {field.file_name(0): shard, METADATA_NAME: bytes(content)}
    manifest = _write(path, Manifest("made", _ROWS, (_ROWS,), (field,), entry), files)
    expected = _good(manifest, x=(((0,), b"") for _ in range(_ROWS)))
    expected["columns"] = {
        "number": {"type": "int64", "blake3": column_digest(struct.pack("<q", value) for value in numbers)},
        "word": {
            "type": "string",
            "blake3": column_digest(None if word is None else word.encode() for word in words),
        },
    }
    return manifest, expected


def tall(path: Path) -> Expected:
    """Metadata of two batches and two chunks."""
    return _tall(path, _ROWS)[1]


def _bad_tall(rule: str, expected: Expected) -> Expected:
    return refused(
        "read",
        problem(rule, "metadata"),
        readable={
            "samples": _ROWS,
            "fields": expected["fields"],
            "columns": {"number": None, "word": None},
        },
    )


def second_chunk(path: Path) -> Expected:
    """A bit of the last chunk is wrong."""
    manifest, expected = _tall(path, _ROWS)
    assert manifest.metadata is not None
    with open(path / METADATA_NAME, "r+b") as file:
        file.seek((len(manifest.metadata.chunks) - 1) << 22)
        first = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([first[0] ^ 1]))
    return _bad_tall("R041", expected)


def row_too_few(path: Path) -> Expected:
    """The second batch lacks a row."""
    return _bad_tall("R043", _tall(path, _ROWS - 1)[1])


def strings_over_2_gib(path: Path) -> Expected:
    """A batch of views that all show the same 8 KiB and a byte: 256 KiB more than 2 GiB together."""
    import pyarrow as pa

    length = (1 << 31) // BATCH_ROWS + 1
    view = struct.pack("<i4sii", length, b"xxxx", 0, 0)
    buffers = [None, pa.py_buffer(view * BATCH_ROWS), pa.py_buffer(b"x" * length)]
    batch = pa.record_batch([pa.Array.from_buffers(pa.string_view(), BATCH_ROWS, buffers)], names=["word"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    content = sink.getvalue().to_pybytes()
    starts = range(0, len(content), CHUNK_BYTES)
    chunks = tuple(blake3_digest(content[start : start + CHUNK_BYTES]).hex() for start in starts)
    shard, file = build_shard(_VOID, [(b"", ())] * BATCH_ROWS)
    field = replace(_VOID, files=(file,))
    files = {field.file_name(0): shard, METADATA_NAME: content}
    entry = MetadataFile(len(content), chunks)
    manifest = _write(path, Manifest("made", BATCH_ROWS, (BATCH_ROWS,), (field,), entry), files)
    readable = _good(manifest, x=(((0,), b"") for _ in range(BATCH_ROWS)))
    return refused(
        "read",
        problem("R042", "metadata"),
        readable={"samples": BATCH_ROWS, "fields": readable["fields"], "columns": {"word": None}},
    )


LARGE: dict[str, tuple[str, Callable[[Path], Expected]]] = {
    "good/manifest-of-64-mib": ("The manifest has 64 MiB, the most that are allowed.", manifest_of_64_mib),
    "bad/R001-manifest-over-64-mib": ("The manifest has a byte more than 64 MiB.", manifest_over_64_mib),
    "good/shard-of-2-to-the-20-samples": ("A shard of 2^20 samples, the most that are allowed.", full_shard),
    "bad/R010-shard-of-2-to-the-20-samples-and-one": ("A shard of 2^20 + 1 samples.", overfull_shard),
    "good/fields-256": ("256 fields, the most that are allowed.", many_fields),
    "good/dictionary-of-1-mib": ("A dictionary of 1 MiB, the most that are allowed.", largest_dictionary),
    "bad/R019-dictionary-over-1-mib": ("A dictionary of a byte more than 1 MiB.", dictionary_too_large),
    "bad/R021-length-right-modulo-2-to-the-64": (
        "65,536 records of 2^48 bytes in a file that holds none of them: its length is right in 64 bits.",
        wrapped_length,
    ),
    "good/metadata-two-batches": (
        "262,146 rows of metadata, which make two batches and more than one chunk of 4 MiB.",
        tall,
    ),
    "bad/R041-last-of-several-chunks": (
        "A bit of the last chunk of metadata.arrow is not what its digest says.",
        second_chunk,
    ),
    "bad/R042-strings-of-over-2-gib": (
        "262,144 strings that are the same 8,193 bytes: more than 2 GiB together, in a file of 4 MiB.",
        strings_over_2_gib,
    ),
    "bad/R043-a-row-too-few-in-the-second-batch": (
        "The second batch of metadata has a row less than there are samples.",
        row_too_few,
    ),
    "bad/R038-more-than-a-validator-lists": (
        "1,500 texts that are not UTF-8; a validator lists 1,000 of them, then how many more there are.",
        many_problems,
    ),
}
"""By name what a vector is, and what makes it."""
