"""One payload field on its way into shard files; its dictionary, given or trained."""

import os
from collections.abc import Iterable
from dataclasses import replace

from dsrt_format.codecs import Encoder, delta_encode
from dsrt_format.dictionary import build_dictionary, train_dictionary
from dsrt_format.entries import Field, ShardFile
from dsrt_format.errors import SchemaError
from dsrt_format.fields import FieldSpec, Zstd
from dsrt_format.shard import build_shard

__all__ = ["FieldWriter", "write_file"]


class FieldWriter:
    """The payload of one field in the shard being filled."""

    def __init__(self, directory: str, name: str, spec: FieldSpec) -> None:
        self._directory = directory
        self.spec = spec
        self.entry = Field.of(name, spec)
        self.files: list[ShardFile] = []
        self.records: list[tuple[bytes, tuple[int, ...]]] = []
        self.stored_bytes = 0
        self._encoder: Encoder | None = None
        self.is_untrained = isinstance(spec.codec, Zstd) and spec.codec.dictionary == "train"
        if isinstance(spec.codec, Zstd) and not self.is_untrained:
            self._begin(spec.codec)

    def filtered(self, data: bytes) -> bytes:
        """Return what the codec sees of a record."""
        return delta_encode(data, self.spec.delta) if self.spec.delta else data

    def train(self, records: Iterable[bytes]) -> None:
        """Make the dictionary from the first records, filtered."""
        if self.is_untrained and isinstance(self.spec.codec, Zstd):
            self.is_untrained = False
            try:
                self._begin(replace(self.spec.codec, dictionary=train_dictionary(records)))
            except SchemaError as error:
                raise SchemaError(f"field {self.entry.name!r}: {error}") from None

    def _begin(self, codec: Zstd) -> None:
        try:
            self._encoder = Encoder(codec)
        except ValueError as error:
            raise SchemaError(f"field {self.entry.name!r}: {error}") from None
        if isinstance(codec.dictionary, bytes):
            data, dictionary = build_dictionary(codec.dictionary)
            self.entry = replace(self.entry, dictionary=dictionary)
            write_file(self._directory, self.entry.dictionary_name, data)

    def append(self, data: bytes, shape: tuple[int, ...]) -> None:
        """Append a record, filtered."""
        if self._encoder is not None:
            data = self._encoder.encode(data)
        self.records.append((data, () if self.spec.kind == "dense" else shape))
        self.stored_bytes += len(data)

    def seal(self) -> None:
        """Write the file of the shard being filled, and begin the next."""
        data, file = build_shard(self.entry, self.records)
        write_file(self._directory, self.entry.file_name(len(self.files)), data)
        self.files.append(file)
        self.records = []
        self.stored_bytes = 0


def write_file(directory: str, name: str, data: bytes | memoryview) -> None:
    """Write a new file, and the directory above it where it is missing."""
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "xb") as file:
        file.write(data)
