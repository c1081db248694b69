"""metadata.arrow: reading it with every check, and writing it. pyarrow is imported on use."""

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dsrt_format.arrow_file import BATCH_ROWS, check_arrow_file, find_footer, footer_columns
from dsrt_format.checksum import blake3_digest
from dsrt_format.column_values import arrow_array, arrow_type, numpy_values
from dsrt_format.directory import CacheDirectory, CacheFile, in_directory
from dsrt_format.entries import CHUNK_BYTES, METADATA_NAME, MetadataFile
from dsrt_format.errors import DataError, FormatError, StaleCacheError
from dsrt_format.manifest import Manifest, checked_manifest
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

T = TypeVar("T")


def read_table(
    path: str | os.PathLike[str], *, manifest: Manifest | None = None, views: bool = False
) -> "pa.Table | None":
    """Return the metadata of a cache as a table with one row per sample, or None if the cache has none.

    Args:
        path: The directory of the cache.
        manifest: The manifest that the cache must have; by default whichever is there.
        views: Whether strings are handed out as they are stored, as string_view and binary_view. pyarrow
            cannot compute on those; give them to Polars. Otherwise they are copied to large_string and
            large_binary.

    Raises:
        DataError: The file breaks a rule (R030, R041 to R046).
        FormatError: The manifest does, see `Manifest.load`.
        StaleCacheError: The cache has another manifest than the one given.
        OSError: The file cannot be read.
        MemoryError: The file is larger than the memory.
    """

    def table(directory: CacheDirectory, found: Manifest) -> "pa.Table | None":
        return None if found.metadata is None else checked_table(directory, found)

    result = _in_cache(path, manifest, table)
    return result if result is None or views else without_views(result)


def read_columns(path: str | os.PathLike[str], *, manifest: Manifest | None = None) -> dict[str, str]:
    """Return the metadata columns of a cache: the word for each type by name, in order; no column, no entry.

    Only the end of the file is read and proven, so this takes no longer for a hundred million rows.

    Args:
        path: The directory of the cache.
        manifest: The manifest that the cache must have; by default whichever is there.

    Raises:
        DataError: The file breaks a rule that its end tells of (R030, R041, R042, R045).
        FormatError: The manifest does, see `Manifest.load`.
        StaleCacheError: The cache has another manifest than the one given.
        OSError: The file cannot be read.
    """

    def columns(directory: CacheDirectory, found: Manifest) -> dict[str, str]:
        if (entry := found.metadata) is None:
            return {}
        with directory.open(METADATA_NAME, entry.bytes) as file:
            # The last ten bytes say where the footer begins; they are proven before they are believed.
            tail = _proven_end(file, entry, max(entry.bytes - 10, 0))
            footer_start = find_footer(tail, entry.bytes)
            tail = _proven_end(file, entry, footer_start)
        footer = tail[footer_start - entry.bytes : -10]
        return footer_columns(footer, {field.name for field in found.fields})

    return _in_cache(path, manifest, columns)


def checked_table(directory: CacheDirectory, manifest: Manifest) -> "pa.Table":
    """Return the metadata of a cache that has some, with strings as they are stored.

    Raises:
        Violation: The first of R030 and R041 to R046 that is broken.
        MemoryError: The file is larger than the memory.
    """
    assert manifest.metadata is not None
    with directory.open(METADATA_NAME, manifest.metadata.bytes) as file:
        data = _proven_end(file, manifest.metadata, 0)
    table = arrow_table(data, manifest.num_samples, {field.name for field in manifest.fields})
    for violation in weight_violations(table):
        raise violation
    return table


def _in_cache(
    path: str | os.PathLike[str], expected: Manifest | None, read: Callable[[CacheDirectory, Manifest], T]
) -> T:
    """Return what `read` makes of the directory of a cache and the manifest in that very directory."""
    cache_path = os.fspath(path)

    def read_cache(directory: CacheDirectory) -> T:
        manifest = checked_manifest(directory)
        if expected is not None and manifest.digest != expected.digest:
            raise StaleCacheError(
                f"the cache at {cache_path!r} has the digest {manifest.digest[:16]}…, expected "
                f"{expected.digest[:16]}…; it was rebuilt or replaced, load its manifest again"
            )
        with raising(DataError, cache_path):
            return read(directory, manifest)

    with raising(FormatError, cache_path):
        return in_directory(path, read_cache)


def _proven_end(file: CacheFile, entry: MetadataFile, start: int) -> memoryview:
    """Return a file from the chunk on that holds byte `start`, proven by its digests.

    It is a copy: of a mapped file, somebody could change what steers the reading after it was checked.

    Raises:
        Violation: R041, or R030, the file has become shorter since it was opened.
        MemoryError: The part is larger than the memory.
    """
    first = start // CHUNK_BYTES
    base = first * CHUNK_BYTES
    content = np.empty(entry.bytes - base, np.uint8).data
    for chunk in range(first, len(entry.chunks)):
        at = chunk * CHUNK_BYTES
        piece = file.read(at, min(CHUNK_BYTES, entry.bytes - at))
        if (violation := chunk_violation(piece, entry, chunk)) is not None:
            raise violation
        content[at - base : at - base + len(piece)] = piece
    return content


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
