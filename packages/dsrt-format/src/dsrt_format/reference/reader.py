"""The plain reader: a whole cache at once, or one sample of it, with every check."""

import operator
import os
from functools import cache
from typing import Any

from dsrt_format.codecs import Decoder
from dsrt_format.column_values import column_type, python_values
from dsrt_format.dictionary import check_dictionary_header, read_dictionary
from dsrt_format.directory import CacheDirectory, in_directory
from dsrt_format.entries import Field
from dsrt_format.errors import DataError, FormatError
from dsrt_format.manifest import Manifest, checked_manifest
from dsrt_format.metadata import checked_table
from dsrt_format.payload_values import record_value
from dsrt_format.rules import Violation, raising
from dsrt_format.shard import ShardReader

__all__ = ["open_decoder", "read", "read_sample"]


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return all samples of a cache: per sample one dict of its payload fields and its metadata columns.

    Args:
        path: The directory of the cache.

    Returns:
        Dense and ragged values are writable arrays of the field's dtype (0-d for the shape ``()``), bytes
        are bytes, text is str. Of metadata, null is None, dates and timestamps are `numpy.datetime64` and
        durations `numpy.timedelta64` in the unit of the column, and the others are bool, int, float, str
        and bytes.

    Raises:
        NotPublishedError: There is no cache (R000).
        UnknownVersionError: The cache is of another version of the format (R005).
        FormatError: The manifest breaks a rule (R001 to R021), or a file is missing or of another
            length (R030).
        DataError: What the files hold breaks a rule (R031 to R046). The error names field, shard and sample.
        ImportError: A field is bfloat16 or float8 and ml_dtypes is not installed.
        OSError: A file cannot be read.
        MemoryError: A record or the metadata is larger than the memory.
    """
    cache_path = os.fspath(path)

    def samples(directory: CacheDirectory) -> list[dict[str, Any]]:
        manifest = _open(directory)
        with raising(DataError, cache_path):
            return _read_samples(directory, manifest)

    with raising(FormatError, cache_path):
        return in_directory(path, samples)


def read_sample(path: str | os.PathLike[str], sample: int) -> dict[str, Any]:
    """Return one sample of a cache as `read` does; only its records and their indexes are read.

    The metadata is checked as a whole, because a row of it is proven by no less.

    Args:
        path: The directory of the cache.
        sample: The position of the sample, from 0.

    Raises:
        IndexError: There is no such sample.
        TypeError: The sample is no integer.
        DsrtError: As for `read`, and ImportError, OSError and MemoryError likewise.
    """
    cache_path = os.fspath(path)

    def one(directory: CacheDirectory) -> dict[str, Any]:
        manifest = _open(directory)
        number = operator.index(sample)
        if not 0 <= number < manifest.num_samples:
            raise IndexError(
                f"sample {number} of {cache_path!r}: it has {manifest.num_samples} samples, counted from 0"
            )
        with raising(DataError, cache_path):
            return _read_one(directory, manifest, number)

    with raising(FormatError, cache_path):
        return in_directory(path, one)


def open_decoder(directory: CacheDirectory, field: Field) -> Decoder:
    """Return the decoder of a field, with its dictionary if it has one.

    Raises:
        Violation: R030, R031 or R040.
    """
    if field.dictionary is None:
        return Decoder()
    with directory.open(field.dictionary_name, field.dictionary.bytes) as file:
        check_dictionary_header(file, field.dictionary)
        return Decoder(read_dictionary(file, field.dictionary))


def _open(directory: CacheDirectory) -> Manifest:
    manifest = checked_manifest(directory)
    for name, length, field, shard in manifest.files():
        try:
            directory.check(name, length)
        except Violation as violation:
            raise violation.at(field=field, shard=shard) from None
    return manifest


def _read_one(directory: CacheDirectory, manifest: Manifest, sample: int) -> dict[str, Any]:
    shard, ordinal = 0, sample
    while ordinal >= manifest.shards[shard]:
        ordinal -= manifest.shards[shard]
        shard += 1
    found: dict[str, Any] = {}
    for field in manifest.fields:
        decoder = cache(lambda field=field: open_decoder(directory, field))
        try:
            with directory.open(field.file_name(shard), field.files[shard].bytes) as file:
                reader = ShardReader(file, field, shard, manifest.shards[shard], decoder)
                reader.check_header()
                data, shape = reader.record(ordinal)
        except Violation as violation:
            raise violation.at(field=field.name, shard=shard, sample=sample) from None
        found[field.name] = record_value(field, data, shape)
    if manifest.metadata is not None:
        row = checked_table(directory, manifest).slice(sample, 1)
        for name, column in zip(row.column_names, row.columns, strict=True):
            (found[name],) = python_values(column_type(column.type), column.chunk(0))
    return found


def _read_samples(directory: CacheDirectory, manifest: Manifest) -> list[dict[str, Any]]:
    # Grown as the first field is read: a number in a manifest proves nothing.
    samples: list[dict[str, Any]] = []
    for field in manifest.fields:
        # The dictionary is proven when the first record needs it.
        decoder = cache(lambda field=field: open_decoder(directory, field))
        first = 0
        for shard, count in enumerate(manifest.shards):
            sample = None
            try:
                with directory.open(field.file_name(shard), field.files[shard].bytes) as file:
                    reader = ShardReader(file, field, shard, count, decoder)
                    reader.check_header()
                    for sample in range(first, first + count):
                        data, shape = reader.record(sample - first)
                        if sample == len(samples):
                            samples.append({})
                        samples[sample][field.name] = record_value(field, data, shape)
                    sample = None
                    reader.check_index()
            except Violation as violation:
                raise violation.at(field=field.name, shard=shard, sample=sample) from None
            first += count
    if manifest.metadata is not None:
        table = checked_table(directory, manifest)
        for name, column in zip(table.column_names, table.columns, strict=True):
            word = column_type(column.type)
            values = (value for chunk in column.chunks for value in python_values(word, chunk))
            for row, value in zip(samples, values, strict=True):
                row[name] = value
    return samples
