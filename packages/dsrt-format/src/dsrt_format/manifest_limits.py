"""What the values of a manifest must satisfy once its keys and types are right: rules R007 to R021."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dsrt_format.dtypes import ITEMSIZE
from dsrt_format.entries import CHUNK_BYTES, MAX_SHARD_SAMPLES, Field
from dsrt_format.fields import DICTIONARY_BYTES, MAX_AXES, shape_problem
from dsrt_format.header import HEADER_BYTES, FileType
from dsrt_format.manifest_json import CODECS, KINDS
from dsrt_format.names import cache_name_problem, field_name_problem
from dsrt_format.rules import Violation

if TYPE_CHECKING:
    from dsrt_format.manifest import Manifest

__all__ = ["MAX_FIELDS", "limit_violations"]

MAX_FIELDS = 256


def limit_violations(manifest: "Manifest") -> Iterator[Violation]:
    """Yield every value that breaks a rule. A check whose premise is broken itself is left out."""
    if (problem := cache_name_problem(manifest.name)) is not None:
        yield Violation("R007", f"the cache has the name {manifest.name!r:.80}: {problem}")
    shards, fields, metadata = manifest.shards, manifest.fields, manifest.metadata
    shards_legal = True
    for shard, count in enumerate(shards):
        if not 1 <= count <= MAX_SHARD_SAMPLES:
            shards_legal = False
            yield Violation("R010", f"the shard has {count} samples, expected 1 to 2^20", shard=shard)
    if manifest.num_samples != (total := sum(shards)):
        yield Violation(
            "R011", f"there are {manifest.num_samples} samples, but {total} in all shards together"
        )
    if metadata is not None and not (
        metadata.bytes >= 1 and len(metadata.chunks) == -(-metadata.bytes // CHUNK_BYTES)
    ):
        yield Violation(
            "R012",
            f"metadata.arrow has {metadata.bytes} bytes and {len(metadata.chunks)} chunk digests; "
            "expected at least one byte and one digest per 4 MiB",
        )
    if not 1 <= len(fields) <= MAX_FIELDS:
        yield Violation("R013", f"there are {len(fields)} fields, expected 1 to {MAX_FIELDS}")
    seen: dict[bytes, str] = {}
    for field in fields:
        own = list(_field_violations(field, len(shards)))
        # The case of ASCII letters only, as bytes have it.
        if (earlier := seen.get(key := field.name.encode().lower())) is not None:
            message = f"the field {earlier!r:.80} has this name but for the case of letters"
            own.append(Violation("R008", message))
        seen[key] = field.name
        if shards_legal and not own:
            own += _length_violations(field, shards)
        yield from (violation.at(field=field.name) for violation in own)


def _field_violations(field: Field, num_shards: int) -> Iterator[Violation]:
    if (problem := field_name_problem(field.name)) is not None:
        yield Violation("R007", f"a field has the name {field.name!r:.80}: {problem}")
    if field.kind not in KINDS:
        yield Violation("R014", f"unknown kind {field.kind!r:.40}, expected one of {', '.join(KINDS)}")
    if field.codec not in CODECS:
        yield Violation("R015", f"unknown codec {field.codec!r:.40}, expected one of {', '.join(CODECS)}")
    if field.dtype not in ITEMSIZE:
        yield Violation("R016", f"unknown dtype {field.dtype!r:.40}, expected one of {', '.join(ITEMSIZE)}")
    elif field.kind in ("bytes", "text") and field.dtype != "uint8":
        yield Violation("R016", f"the kind {field.kind} has dtype {field.dtype}, expected uint8")
    if field.delta is not None:
        if not 1 <= field.delta <= 255:
            yield Violation("R017", f"delta is {field.delta}, expected 1 to 255")
        elif field.dtype in ITEMSIZE and field.dtype != "uint8":
            yield Violation("R017", f"delta with dtype {field.dtype}, expected uint8")
        elif field.codec == "raw":
            yield Violation("R017", "delta with the codec raw, expected a compressing one")
    if field.kind == "dense" and field.shape is not None:
        if (problem := shape_problem(field.shape, ITEMSIZE.get(field.dtype, 1))) is not None:
            yield Violation("R018", f"the shape {list(field.shape)!r:.200}: {problem}")
    elif field.kind == "ragged" and field.ndim is not None and not 1 <= field.ndim <= MAX_AXES:
        yield Violation("R018", f"ndim is {field.ndim}, expected 1 to {MAX_AXES}")
    if field.codec == "zstd-dict" and field.dictionary is not None:
        low, high = (HEADER_BYTES + length for length in DICTIONARY_BYTES)
        if not low <= field.dictionary.bytes <= high:
            yield Violation(
                "R019", f"dictionary.bin has {field.dictionary.bytes} bytes, expected {low} to {high}"
            )
    if len(field.files) != num_shards:
        yield Violation("R020", f"{len(field.files)} files for {num_shards} shards")


def _length_violations(field: Field, shards: Sequence[int]) -> Iterator[Violation]:
    for shard, (count, file) in enumerate(zip(shards, field.files, strict=True)):
        index_bytes = count * field.entry_bytes
        if field.file_type is FileType.FIXED:
            expected = HEADER_BYTES + -(-count * field.stride // 8) * 8 + index_bytes
            if file.bytes != expected:
                message = f"the file of {count} records has {file.bytes} bytes, expected {expected}"
                yield Violation("R021", message, shard=shard)
        elif (records_end := file.bytes - index_bytes) < HEADER_BYTES or records_end % 8:
            message = (
                f"the file of {count} records has {file.bytes} bytes; before its index of {index_bytes} "
                "bytes there must be at least 64 and a multiple of 8"
            )
            yield Violation("R021", message, shard=shard)
