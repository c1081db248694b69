"""The entries of a manifest: payload fields and the files that hold them."""

from dataclasses import dataclass

from dsrt_format.dtypes import ITEMSIZE
from dsrt_format.fields import FieldSpec, codec_name
from dsrt_format.header import FileType

__all__ = [
    "CHUNK_BYTES",
    "MAX_SHARD_SAMPLES",
    "METADATA_NAME",
    "DictionaryFile",
    "Field",
    "MetadataFile",
    "ShardFile",
]

MAX_SHARD_SAMPLES = 2**20

METADATA_NAME = "metadata.arrow"

CHUNK_BYTES = 4 << 20
"""How much of metadata.arrow one digest covers."""


@dataclass(frozen=True)
class ShardFile:
    """One file of a field.

    Attributes:
        bytes: The length of the file.
        body_blake3: BLAKE3 of all after the header before the key is applied, as 64 hex digits.
        index_blake3: BLAKE3 of the index as it stands in the file; None for fixed shards.
    """

    bytes: int
    body_blake3: str
    index_blake3: str | None = None


@dataclass(frozen=True)
class DictionaryFile:
    """The dictionary of a field: the length of its file, and BLAKE3 of the body as 64 hex digits."""

    bytes: int
    body_blake3: str


@dataclass(frozen=True)
class MetadataFile:
    """metadata.arrow: its length, and BLAKE3 of each 4 MiB of it as 64 hex digits."""

    bytes: int
    chunks: tuple[str, ...]


@dataclass(frozen=True)
class Field:
    """A payload field as the manifest describes it.

    Attributes:
        name: The name.
        kind: ``"dense"``, ``"ragged"``, ``"bytes"`` or ``"text"``.
        dtype: The name of the element type.
        codec: ``"raw"``, ``"zstd"`` or ``"zstd-dict"``.
        files: One entry per shard.
        shape: The shape of every record of a dense field, else None.
        ndim: The number of axes of a ragged field, else None.
        delta: The distance of the delta filter, or None.
        dictionary: For zstd-dict, else None.
    """

    name: str
    kind: str
    dtype: str
    codec: str
    files: tuple[ShardFile, ...]
    shape: tuple[int, ...] | None = None
    ndim: int | None = None
    delta: int | None = None
    dictionary: DictionaryFile | None = None

    @classmethod
    def of(cls, name: str, spec: FieldSpec) -> "Field":
        """Return the entry of a field that has no files yet."""
        return cls(
            name=name,
            kind=spec.kind,
            dtype=spec.dtype,
            codec=codec_name(spec.codec),
            files=(),
            shape=spec.shape if spec.kind == "dense" else None,
            ndim=spec.ndim if spec.kind == "ragged" else None,
            delta=spec.delta or None,
        )

    @property
    def file_type(self) -> FileType:
        """Whether records have a fixed stride or an index with ends."""
        return FileType.FIXED if self.kind == "dense" and self.codec == "raw" else FileType.INDEXED

    @property
    def entry_ndim(self) -> int:
        """The number of lengths in an index entry: 0 for dense, ndim for ragged, 1 for bytes and text."""
        return {"dense": 0, "ragged": self.ndim or 0}.get(self.kind, 1)

    @property
    def entry_bytes(self) -> int:
        """Bytes per index entry."""
        return 4 if self.file_type is FileType.FIXED else 12 + 8 * self.entry_ndim

    @property
    def stride(self) -> int:
        """Bytes per record of a dense field before the codec."""
        size = ITEMSIZE[self.dtype]
        for axis in self.shape or ():
            size *= axis
        return size

    @property
    def total_bytes(self) -> int:
        """The lengths of all its files together, the dictionary among them."""
        return sum(file.bytes for file in self.files) + (self.dictionary.bytes if self.dictionary else 0)

    def file_name(self, shard: int) -> str:
        """Return the path of a shard's file inside the cache."""
        return f"fields/{self.name}/{shard:05d}.shard"

    @property
    def dictionary_name(self) -> str:
        """The path of the dictionary inside the cache."""
        return f"fields/{self.name}/dictionary.bin"
