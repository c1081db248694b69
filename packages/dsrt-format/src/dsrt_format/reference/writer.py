"""The plain writer: samples in, a published cache out. One process, one thread, no resuming, no fsync."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dsrt_format.codecs import Encoder, delta_encode
from dsrt_format.column_values import stored_value
from dsrt_format.dictionary import build_dictionary
from dsrt_format.directory import MAX_MANIFEST_BYTES
from dsrt_format.entries import MAX_SHARD_SAMPLES, METADATA_NAME, Field, ShardFile
from dsrt_format.errors import CacheExistsError, SchemaError
from dsrt_format.fields import FieldSpec, Zstd
from dsrt_format.manifest import Manifest
from dsrt_format.metadata import MetadataWriter
from dsrt_format.payload_values import record_bytes
from dsrt_format.schema import check_attributes, check_columns, check_fields, check_fingerprint, check_name
from dsrt_format.shard import build_shard

__all__ = ["write"]


def write(
    path: str | os.PathLike[str],
    fields: Mapping[str, FieldSpec],
    samples: Iterable[Mapping[str, Any]],
    metadata: Mapping[str, str] | None = None,
    *,
    fingerprint: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    samples_per_shard: int = MAX_SHARD_SAMPLES,
    shard_bytes: int = 256 << 20,
) -> Manifest:
    """Write a cache. It appears at `path` complete, by one rename, or not at all.

    Args:
        path: Where the cache is to be. Nothing may lie there yet; the directory above must exist. Its last
            part is the name of the cache.
        fields: The payload fields by name, 1 to 256.
        samples: Per sample one flat mapping with a value for each field and each metadata column; see
            `dsrt_format.payload_values.record_bytes` and `dsrt_format.column_values.stored_value`.
        metadata: The type of each metadata column by name; a word of `dsrt_format.columns.COLUMN_TYPES`.
        fingerprint: What identifies the source.
        attributes: Free JSON: dicts with str keys, lists, str, int, float, bool and None.
        samples_per_shard: A shard is closed when it holds so many samples, 1 to 2^20.
        shard_bytes: A shard is closed when any field holds at least so many stored bytes in it.

    Returns:
        The manifest of the cache.

    Raises:
        CacheExistsError: Something lies at `path`.
        SchemaError: A name, type or attribute that the format does not allow, or a value that does not fit
            its field or column; the message names field and sample.
        TypeError: An argument or a sample of another type.
        ValueError: `samples_per_shard` or `shard_bytes` out of range.
        OSError: A file cannot be written.
    """
    target = os.path.abspath(path)
    check_name(os.path.basename(target))
    check_fields(fields)
    check_columns(columns := {} if metadata is None else metadata, fields)
    if not 1 <= samples_per_shard <= MAX_SHARD_SAMPLES or shard_bytes < 1:
        raise ValueError(
            f"samples_per_shard {samples_per_shard}: 1 to 2^20; shard_bytes {shard_bytes}: from 1"
        )
    manifest = Manifest(
        name=os.path.basename(target),
        num_samples=0,
        shards=(),
        fields=(),
        fingerprint=check_fingerprint(fingerprint),
        attributes=check_attributes({} if attributes is None else attributes),
    )
    if os.path.lexists(target):
        raise _exists(target)
    work = tempfile.mkdtemp(prefix=f".{manifest.name}.", suffix=".building", dir=os.path.dirname(target))
    try:
        building = os.path.join(work, "cache")
        os.mkdir(building)
        builder = _Builder(building, manifest, dict(fields), dict(columns))
        for sample in samples:
            builder.append(sample)
            if builder.is_full(samples_per_shard, shard_bytes):
                builder.seal()
        manifest = builder.finish()
        try:
            os.rename(building, target)
        except OSError as error:
            if os.path.lexists(target):
                raise _exists(target) from error
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return manifest


def _exists(target: str) -> CacheExistsError:
    return CacheExistsError(f"{target!r} exists; delete it first or write to another path")


class _Column:
    """The payload of one field in the shard being filled."""

    def __init__(self, directory: str, name: str, spec: FieldSpec) -> None:
        self._directory = directory
        self.spec = spec
        self.entry = Field.of(name, spec)
        self.files: list[ShardFile] = []
        self.records: list[tuple[bytes, tuple[int, ...]]] = []
        self.stored_bytes = 0
        self._encoder = None
        if isinstance(spec.codec, Zstd):
            try:
                self._encoder = Encoder(spec.codec)
            except ValueError as error:
                raise SchemaError(f"field {name!r}: {error}") from None
            if spec.codec.dictionary is not None:
                data, dictionary = build_dictionary(spec.codec.dictionary)
                self.entry = replace(self.entry, dictionary=dictionary)
                _write(self._directory, self.entry.dictionary_name, data)

    def append(self, data: bytes, shape: tuple[int, ...]) -> None:
        if self.spec.delta:
            data = delta_encode(data, self.spec.delta)
        if self._encoder is not None:
            data = self._encoder.encode(data)
        self.records.append((data, () if self.spec.kind == "dense" else shape))
        self.stored_bytes += len(data)

    def seal(self) -> None:
        data, file = build_shard(self.entry, self.records)
        _write(self._directory, self.entry.file_name(len(self.files)), data)
        self.files.append(file)
        self.records = []
        self.stored_bytes = 0


class _Builder:
    """A cache being built in a directory of its own."""

    def __init__(
        self, directory: str, manifest: Manifest, fields: Mapping[str, FieldSpec], columns: Mapping[str, str]
    ) -> None:
        self._directory = directory
        self._manifest = manifest
        self._payload = {name: _Column(directory, name, spec) for name, spec in fields.items()}
        self._columns = columns
        self._num_samples = 0
        self._shards: list[int] = []
        self._filled = 0
        self._metadata = MetadataWriter(columns) if columns else None

    def append(self, sample: Mapping[str, Any]) -> None:
        """Check a whole sample, then add it."""
        number = self._num_samples
        if not isinstance(sample, Mapping):
            raise TypeError(
                f"sample {number}: expected a mapping of names to values, not {type(sample).__name__}"
            )
        for name in sample:
            if name not in self._payload and name not in self._columns:
                raise SchemaError(f"sample {number}: {name!r} is neither a field nor a metadata column")
        for name in (*self._payload, *self._columns):
            if name not in sample:
                kind = "metadata column" if name in self._columns else "field"
                raise SchemaError(f"sample {number}: the {kind} {name!r} is missing")
        records, row = [], []
        for name, column in self._payload.items():
            try:
                records.append(record_bytes(column.spec, sample[name]))
            except ValueError as error:
                raise SchemaError(f"sample {number}, field {name!r}: {error}") from None
        for name, word in self._columns.items():
            try:
                row.append(_stored(name, word, sample[name]))
            except ValueError as error:
                raise SchemaError(f"sample {number}, metadata column {name!r}: {error}") from None
        for column, (data, shape) in zip(self._payload.values(), records, strict=True):
            column.append(data, shape)
        if self._metadata is not None:
            self._metadata.append(row)
        self._num_samples += 1
        self._filled += 1

    def is_full(self, samples_per_shard: int, shard_bytes: int) -> bool:
        return self._filled >= samples_per_shard or any(
            column.stored_bytes >= shard_bytes for column in self._payload.values()
        )

    def seal(self) -> None:
        """Write the files of the shard being filled."""
        for column in self._payload.values():
            column.seal()
        self._shards.append(self._filled)
        self._filled = 0

    def finish(self) -> Manifest:
        """Write all that is left, the manifest last."""
        if self._filled:
            self.seal()
        metadata = None
        if self._metadata is not None:
            table, metadata = self._metadata.finish()
            _write(self._directory, METADATA_NAME, table)
        manifest = replace(
            self._manifest,
            num_samples=self._num_samples,
            shards=tuple(self._shards),
            fields=tuple(
                replace(column.entry, files=tuple(column.files)) for column in self._payload.values()
            ),
            metadata=metadata,
        ).sealed()
        data = manifest.to_bytes()
        if len(data) > MAX_MANIFEST_BYTES:
            raise SchemaError(
                f"the manifest has {len(data)} bytes, at most 64 MiB are allowed; use larger shards"
            )
        _write(self._directory, "manifest.json", data)
        return manifest


def _stored(name: str, word: str, value: Any) -> Any:
    found = stored_value(word, value)
    if name == "weight" and (found is None or not 0 <= found < float("inf")):
        raise ValueError(f"a weight is a finite number >= 0, never null; found {value!r}")
    return found


def _write(directory: str, name: str, data: bytes | memoryview) -> None:
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "xb") as file:
        file.write(data)
