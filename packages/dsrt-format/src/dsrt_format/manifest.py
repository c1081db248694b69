"""manifest.json: what a cache holds, and the digests that prove every other file."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from dsrt_format.checksum import blake3_digest
from dsrt_format.directory import CacheDirectory, in_directory
from dsrt_format.entries import METADATA_NAME, DictionaryFile, Field, MetadataFile, ShardFile
from dsrt_format.errors import FormatError
from dsrt_format.manifest_json import parse_manifest
from dsrt_format.manifest_limits import limit_violations
from dsrt_format.rules import raising

__all__ = ["Manifest", "checked_manifest", "read_manifest"]


@dataclass(frozen=True)
class Manifest:
    """What a cache holds.

    Attributes:
        name: The name of the cache, which need not be its directory's.
        num_samples: The number of samples.
        shards: Samples per shard.
        fields: The payload fields, in the writer's order.
        metadata: The metadata file, or None if there is no metadata column.
        fingerprint: What identifies the source, or None.
        attributes: Free JSON.
        digest: BLAKE3 of the manifest as 64 hex digits: it stands for the cache with all its bytes.
    """

    name: str
    num_samples: int
    shards: tuple[int, ...]
    fields: tuple[Field, ...]
    metadata: MetadataFile | None = None
    fingerprint: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict, hash=False)
    digest: str = ""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Manifest":
        """Read and check the manifest of a cache. No other file is looked at.

        Args:
            path: The directory of the cache.

        Raises:
            NotPublishedError: There is no cache (R000).
            UnknownVersionError: The cache is of another version of the format (R005).
            FormatError: The manifest breaks another of the rules R001 to R021.
            OSError: The file cannot be read.
        """
        with raising(FormatError, os.fspath(path)):
            return in_directory(path, checked_manifest)

    def files(self) -> Iterator[tuple[str, int, str | None, int | None]]:
        """Yield every other file of the cache: path inside, length, and field and shard if any."""
        for entry in self.fields:
            if entry.dictionary is not None:
                yield entry.dictionary_name, entry.dictionary.bytes, entry.name, None
            for shard, file in enumerate(entry.files):
                yield entry.file_name(shard), file.bytes, entry.name, shard
        if self.metadata is not None:
            yield METADATA_NAME, self.metadata.bytes, None, None

    @property
    def total_bytes(self) -> int:
        """The lengths of all those files together."""
        return sum(length for _, length, _, _ in self.files())

    @property
    def cache_id(self) -> int:
        """The number of the cache in datasets: 63 bits of the digest, 0 to 2^63-1."""
        return int(self.digest[:16], 16) & (2**63 - 1)

    def sealed(self) -> "Manifest":
        """Return the manifest with its digest filled in."""
        return replace(self, digest=blake3_digest(self._content()).hex())

    def to_bytes(self) -> bytes:
        """Return the file of a sealed manifest."""
        return b'{"digest":"' + self.digest.encode() + b'",' + self._content()[1:]

    def _content(self) -> bytes:
        metadata = self.metadata
        value = {
            "attributes": self.attributes,
            "fields": [_field_value(item) for item in self.fields],
            "fingerprint": self.fingerprint,
            "format": 1,
            "metadata": metadata and {"bytes": metadata.bytes, "chunks": metadata.chunks},
            "name": self.name,
            "samples": self.num_samples,
            "shards": self.shards,
        }
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
        return text.encode()


def checked_manifest(directory: CacheDirectory) -> Manifest:
    """Read a manifest with every check of it.

    Raises:
        Violation: The one of R000 to R021 with the lowest number that is broken.
    """
    manifest = read_manifest(directory)
    # One by one: a manifest of 64 MiB can have tens of millions of violations.
    lowest = min(limit_violations(manifest), key=lambda violation: violation.rule, default=None)
    if lowest is not None:
        raise lowest
    return manifest


def read_manifest(directory: CacheDirectory) -> Manifest:
    """Read a manifest whose values may still break R007 to R021.

    Raises:
        Violation: R000 to R006, after which nothing more can be said.
    """
    value = parse_manifest(directory.manifest_bytes())
    metadata = value["metadata"]
    return Manifest(
        name=value["name"],
        num_samples=value["samples"],
        shards=tuple(value["shards"]),
        fields=tuple(_field(item) for item in value["fields"]),
        metadata=metadata and MetadataFile(metadata["bytes"], tuple(metadata["chunks"])),
        fingerprint=value["fingerprint"],
        attributes=value["attributes"],
        digest=value["digest"],
    )


def _field(value: dict[str, Any]) -> Field:
    dictionary = value.get("dictionary")
    shape = value.get("shape")
    return Field(
        name=value["name"],
        kind=value["kind"],
        dtype=value["dtype"],
        codec=value["codec"],
        files=tuple(
            ShardFile(file["bytes"], file["body_blake3"], file.get("index_blake3")) for file in value["files"]
        ),
        shape=None if shape is None else tuple(shape),
        ndim=value.get("ndim"),
        delta=value.get("delta"),
        dictionary=dictionary and DictionaryFile(dictionary["bytes"], dictionary["body_blake3"]),
    )


def _field_value(entry: Field) -> dict[str, Any]:
    value: dict[str, Any] = {
        "name": entry.name,
        "kind": entry.kind,
        "dtype": entry.dtype,
        "codec": entry.codec,
        "files": [_present(file.__dict__) for file in entry.files],
        "shape": entry.shape,
        "ndim": entry.ndim,
        "delta": entry.delta,
        "dictionary": entry.dictionary and entry.dictionary.__dict__,
    }
    return _present(value)


def _present(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}
