"""The plain writer: samples in, a published cache out. One process, one thread, no resuming, no fsync."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from dsrt_format.column_values import stored_value
from dsrt_format.dictionary import TRAINING_BYTES
from dsrt_format.directory import MAX_MANIFEST_BYTES
from dsrt_format.entries import MAX_SHARD_SAMPLES, METADATA_NAME
from dsrt_format.errors import CacheExistsError, SchemaError
from dsrt_format.fields import FieldSpec
from dsrt_format.manifest import Manifest
from dsrt_format.metadata import MetadataWriter
from dsrt_format.payload_values import record_bytes
from dsrt_format.reference.field_writer import FieldWriter, write_file
from dsrt_format.schema import check_attributes, check_columns, check_fields, check_fingerprint, check_name

__all__ = ["write"]

_MAX_HELD = 256 << 20
"""Dictionaries are trained on what there is once the samples held back have so many bytes in all fields."""

_Records: TypeAlias = list[tuple[bytes, tuple[int, ...]]]
"""For each field a record, filtered, and its shape."""


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
        builder = _Builder(building, manifest, dict(fields), dict(columns), samples_per_shard, shard_bytes)
        for sample in samples:
            builder.append(sample)
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


class _Builder:
    """A cache being built in a directory of its own."""

    def __init__(
        self,
        directory: str,
        manifest: Manifest,
        fields: Mapping[str, FieldSpec],
        columns: Mapping[str, str],
        samples_per_shard: int,
        shard_bytes: int,
    ) -> None:
        self._directory = directory
        self._manifest = manifest
        self._payload = {name: FieldWriter(directory, name, spec) for name, spec in fields.items()}
        self._columns = columns
        self._num_samples = 0
        self._shards: list[int] = []
        self._filled = 0
        self._metadata = MetadataWriter(columns) if columns else None
        self._samples_per_shard = samples_per_shard
        self._shard_bytes = shard_bytes
        # Samples that wait for dictionaries to be trained on them.
        self._held: list[tuple[_Records, list[Any]]] = []
        self._held_bytes = dict.fromkeys(fields, 0)
        self._is_training = any(field.is_untrained for field in self._payload.values())

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
        records: _Records = []
        row = []
        for name, field in self._payload.items():
            try:
                data, shape = record_bytes(field.spec, sample[name])
            except ValueError as error:
                raise SchemaError(f"sample {number}, field {name!r}: {error}") from None
            records.append((field.filtered(data), shape))
        for name, word in self._columns.items():
            try:
                row.append(_stored(name, word, sample[name]))
            except ValueError as error:
                raise SchemaError(f"sample {number}, metadata column {name!r}: {error}") from None
        self._num_samples += 1
        if not self._is_training:
            self._store(records, row)
            return
        self._held.append((records, row))
        for name, (data, _) in zip(self._payload, records, strict=True):
            self._held_bytes[name] += len(data)
        if sum(self._held_bytes.values()) >= _MAX_HELD or all(
            self._held_bytes[name] >= TRAINING_BYTES
            for name, field in self._payload.items()
            if field.is_untrained
        ):
            self._train()

    def _train(self) -> None:
        """Make the dictionaries from the samples held back, and store those."""
        self._is_training = False
        for number, field in enumerate(self._payload.values()):
            field.train(records[number][0] for records, _ in self._held)
        held, self._held = self._held, []
        for records, row in held:
            self._store(records, row)

    def _store(self, records: _Records, row: list[Any]) -> None:
        """Add a sample to the shard being filled, and seal it if it is full."""
        for field, (data, shape) in zip(self._payload.values(), records, strict=True):
            field.append(data, shape)
        if self._metadata is not None:
            self._metadata.append(row)
        self._filled += 1
        if self._filled >= self._samples_per_shard or any(
            field.stored_bytes >= self._shard_bytes for field in self._payload.values()
        ):
            self.seal()

    def seal(self) -> None:
        """Write the files of the shard being filled."""
        for field in self._payload.values():
            field.seal()
        self._shards.append(self._filled)
        self._filled = 0

    def finish(self) -> Manifest:
        """Write all that is left, the manifest last."""
        if self._is_training:
            self._train()
        if self._filled:
            self.seal()
        metadata = None
        if self._metadata is not None:
            table, metadata = self._metadata.finish()
            write_file(self._directory, METADATA_NAME, table)
        manifest = replace(
            self._manifest,
            num_samples=self._num_samples,
            shards=tuple(self._shards),
            fields=tuple(replace(field.entry, files=tuple(field.files)) for field in self._payload.values()),
            metadata=metadata,
        ).sealed()
        data = manifest.to_bytes()
        if len(data) > MAX_MANIFEST_BYTES:
            raise SchemaError(
                f"the manifest has {len(data)} bytes, at most 64 MiB are allowed; use larger shards"
            )
        write_file(self._directory, "manifest.json", data)
        return manifest


def _stored(name: str, word: str, value: Any) -> Any:
    found = stored_value(word, value)
    if name == "weight" and (found is None or not 0 <= found < float("inf")):
        raise ValueError(f"a weight is a finite number >= 0, never null; found {value!r}")
    return found
