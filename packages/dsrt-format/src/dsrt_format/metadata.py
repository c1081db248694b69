"""metadata.arrow: reading it with every check, and writing it. pyarrow is imported on use."""

import mmap
import os
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dsrt_format.arrow_file import BATCH_ROWS, check_arrow_file, find_footer, footer_columns
from dsrt_format.checksum import blake3_digest
from dsrt_format.column_values import arrow_array, arrow_type, numpy_values
from dsrt_format.directory import CacheDirectory, CacheFile
from dsrt_format.entries import CHUNK_BYTES, METADATA_NAME, MetadataFile
from dsrt_format.errors import DataError
from dsrt_format.manifest import Manifest
from dsrt_format.rules import Violation, raising

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "MetadataWriter",
    "arrow_table",
    "chunk_violation",
    "read_columns",
    "read_table",
    "weight_violations",
    "without_views",
]


def read_table(
    path: str | os.PathLike[str], *, manifest: Manifest | None = None, views: bool = False
) -> "pa.Table | None":
    """Return the metadata of a cache as a table with one row per sample, or None if the cache has none.

    Args:
        path: The directory of the cache.
        manifest: The manifest to check against; by default it is loaded from the directory.
        views: Whether strings are handed out as they are stored, as string_view and binary_view mapped from
            the file. pyarrow cannot compute on those; give them to Polars. Otherwise they are copied to
            large_string and large_binary.

    Raises:
        DataError: The file breaks a rule (R030, R041 to R046).
        FormatError: The manifest does, see `Manifest.load`.
        OSError: The file cannot be read.
    """
    manifest = Manifest.load(path) if manifest is None else manifest
    if manifest.metadata is None:
        return None
    with raising(DataError, os.fspath(path)), CacheDirectory(path) as directory:
        table = checked_table(directory, manifest)
    return table if views else without_views(table)


def read_columns(path: str | os.PathLike[str], *, manifest: Manifest | None = None) -> dict[str, str]:
    """Return the metadata columns of a cache: the word for each type by name, in order; no column, no entry.

    Only the end of the file is read and proven, so this takes no longer for a hundred million rows.

    Args:
        path: The directory of the cache.
        manifest: The manifest to check against; by default it is loaded from the directory.

    Raises:
        DataError: The file breaks a rule that its end tells of (R030, R041, R042, R045).
        FormatError: The manifest does, see `Manifest.load`.
        OSError: The file cannot be read.
    """
    manifest = Manifest.load(path) if manifest is None else manifest
    if (entry := manifest.metadata) is None:
        return {}
    with raising(DataError, os.fspath(path)), CacheDirectory(path) as directory:
        with directory.open(METADATA_NAME, entry.bytes) as file:
            data = _map_file(file)
        # The last ten bytes say where the footer begins; they are proven before they are believed.
        _require_chunks(data, entry, max(entry.bytes - 10, 0))
        _require_chunks(data, entry, find_footer(data))
        return footer_columns(data, {field.name for field in manifest.fields})


def checked_table(directory: CacheDirectory, manifest: Manifest) -> "pa.Table":
    """Return the metadata of a cache that has some, with strings as they are stored.

    Raises:
        Violation: The first of R030 and R041 to R046 that is broken.
    """
    assert manifest.metadata is not None
    with directory.open(METADATA_NAME, manifest.metadata.bytes) as file:
        data = _map_file(file)
    _require_chunks(data, manifest.metadata, 0)
    table = arrow_table(data, manifest.num_samples, {field.name for field in manifest.fields})
    for violation in weight_violations(table):
        raise violation
    return table


def _require_chunks(data: memoryview, entry: MetadataFile, start: int) -> None:
    """Prove the file from byte `start` on."""
    for chunk in range(start // CHUNK_BYTES, len(entry.chunks)):
        first = chunk * CHUNK_BYTES
        if (violation := chunk_violation(data[first : first + CHUNK_BYTES], entry, chunk)) is not None:
            raise violation


def _map_file(file: CacheFile) -> memoryview:
    """Return a file as memory that is mapped and lives as long as anything refers to it.

    Raises:
        Violation: R030, the file has become shorter since it was opened.
    """
    try:
        return memoryview(mmap.mmap(file.fileno(), file.length, access=mmap.ACCESS_READ))
    except ValueError:
        raise Violation("R030", f"{METADATA_NAME} has become shorter than its {file.length} bytes") from None


def chunk_violation(data: bytes | memoryview, entry: MetadataFile, chunk: int) -> Violation | None:
    """Return R041 if `data` is not the chunk of that number by its digest."""
    if (found := blake3_digest(data).hex()) == (expected := entry.chunks[chunk]):
        return None
    return Violation(
        "R041",
        f"the 4 MiB of {METADATA_NAME} from byte {chunk * CHUNK_BYTES} on have the digest {found[:16]}…, "
        f"expected {expected[:16]}…; copy the file again from where the cache came from",
    )


def arrow_table(data: memoryview, num_samples: int, fields: Container[str]) -> "pa.Table":
    """Return the table in a file that is proven by its digests, over the memory of `data`.

    Args:
        data: The whole file.
        num_samples: The number of rows there must be.
        fields: The names of the payload fields.

    Raises:
        Violation: One of R042 to R045.
    """
    import pyarrow as pa

    columns = check_arrow_file(data, num_samples, fields)
    try:
        with pa.ipc.open_file(pa.py_buffer(data)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except MemoryError:  # pyarrow's is an ArrowException, too, and says nothing about the file
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Violation("R042", f"{METADATA_NAME} is no sound Arrow file: {error}") from None
    expected = pa.schema([(name, arrow_type(word)) for name, word in columns.items()])
    if table.schema != expected:
        raise Violation("R042", f"pyarrow reads the schema of {METADATA_NAME} otherwise than it is written")
    return table


def weight_violations(table: "pa.Table") -> Iterator[Violation]:
    """Yield R046 if the column weight has another type, else for each row with a weight that is none."""
    import pyarrow as pa

    if "weight" not in table.column_names:
        return
    column = table.column("weight")
    if column.type != pa.float64():
        message = f"the column weight has the type {column.type}, expected float64"
        yield Violation("R046", message, field="weight")
        return
    first = 0
    for chunk in column.chunks:
        weights, valid = numpy_values("float64", chunk)
        bad = ~(np.isfinite(weights) & (weights >= 0))
        if valid is not None:
            bad |= ~valid
        for row in np.flatnonzero(bad):
            found = weights[row] if valid is None or valid[row] else None
            message = f"the weight is {found}, expected a finite number >= 0"
            yield Violation("R046", message, field="weight", sample=first + int(row))
        first += len(chunk)


def without_views(table: "pa.Table") -> "pa.Table":
    """Return a table with large_string and large_binary for the views, which pyarrow cannot compute on."""
    import pyarrow as pa

    large = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return table.cast(pa.schema([(field.name, large.get(field.type, field.type)) for field in table.schema]))


class MetadataWriter:
    """Builds metadata.arrow batch by batch, in memory.

    Args:
        columns: The word for each column's type by name, at least one.
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        import pyarrow as pa

        self._words = tuple(columns.values())
        self._schema = pa.schema([(name, arrow_type(word)) for name, word in columns.items()])
        self._sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V5)
        self._writer = pa.ipc.new_file(self._sink, self._schema, options=options)
        self._rows: list[Sequence[Any]] = []

    def append(self, row: Sequence[Any]) -> None:
        """Add a row: per column what `dsrt_format.column_values.stored_value` returns."""
        self._rows.append(row)
        if len(self._rows) == BATCH_ROWS:
            self._flush()

    def finish(self) -> tuple[memoryview, MetadataFile]:
        """Return the file and its entry for the manifest."""
        if self._rows:
            self._flush()
        self._writer.close()
        data = memoryview(self._sink.getvalue()).cast("B")
        starts = range(0, len(data), CHUNK_BYTES)
        chunks = tuple(blake3_digest(data[start : start + CHUNK_BYTES]).hex() for start in starts)
        return data, MetadataFile(len(data), chunks)

    def _flush(self) -> None:
        import pyarrow as pa

        columns = zip(self._words, zip(*self._rows, strict=True), strict=True)
        arrays = [arrow_array(word, values) for word, values in columns]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._rows = []
