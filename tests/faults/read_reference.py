"""The reference reader's path: all at once, and where that fails piece by piece."""

from __future__ import annotations

from functools import cache as once
from pathlib import Path
from typing import Any

from dsrt_format import reference
from dsrt_format.column_values import column_type, python_values
from dsrt_format.directory import CacheDirectory
from dsrt_format.errors import DataError, FormatError
from dsrt_format.manifest import Manifest
from dsrt_format.metadata import checked_table
from dsrt_format.payload_values import record_value
from dsrt_format.reference.reader import open_decoder
from dsrt_format.rules import Violation, raising
from dsrt_format.shard import ShardReader
from tests.faults.batches import MOST
from tests.faults.judge import Judge
from tests.faults.truth import Truth


def read_reference(path: Path, known: Truth, judge: Judge) -> None:
    """Read by the reference reader: all at once, and where that fails piece by piece."""
    try:
        samples = reference.read(path)
    except Exception:
        _read_pieces(path, judge)
    else:
        if judge.count(len(samples)):
            names = dict.fromkeys(name for sample in samples[:1] for name in sample)
            for name in names:
                values = [sample[name] for sample in samples]
                (judge.records if name in known.fields else judge.cells)(name, values, "read")
    for sample in (0, len(known) - 1):
        with judge.attempt("read_sample"):
            try:
                found = reference.read_sample(path, sample)
            except IndexError:
                if len(reference.read(path)) > sample:
                    raise
                continue
            for name, value in found.items():
                (judge.records if name in known.fields else judge.cells)(
                    name, [value], "read_sample", [sample]
                )


def _read_pieces(path: Path, judge: Judge) -> None:
    """Read what the reference reader reads, by its parts, each alone."""
    text = str(path)
    with judge.attempt("open"), raising(FormatError, text), CacheDirectory(path) as directory:
        manifest = reference.reader._open(directory)
        for field in manifest.fields:
            decoder = once(lambda field=field: open_decoder(directory, field))
            first = 0
            for shard, count in enumerate(manifest.shards):
                keys = [("field", field.name, first + ordinal) for ordinal in range(min(count, MOST))]
                with judge.attempt("read", field.name, keys=keys), raising(DataError, text):
                    try:
                        _read_shard(directory, manifest, field, shard, first, decoder, judge, text)
                    except Violation as violation:
                        raise violation.at(field=field.name, shard=shard) from None
                first += count
        if manifest.metadata is not None:
            with judge.attempt("metadata"), raising(DataError, text):
                table = checked_table(directory, manifest)
                for name, column in zip(table.column_names, table.columns, strict=True):
                    word = column_type(column.type)
                    judge.cells(
                        name, [one for chunk in column.chunks for one in python_values(word, chunk)], "read"
                    )


def _read_shard(
    directory: CacheDirectory,
    manifest: Manifest,
    field: Any,
    shard: int,
    first: int,
    decoder: Any,
    judge: Judge,
    text: str,
) -> None:
    count = manifest.shards[shard]
    with directory.open(field.file_name(shard), field.files[shard].bytes) as file:
        reader = ShardReader(file, field, shard, count, decoder)
        reader.check_header()
        for ordinal in range(min(count, MOST)):
            sample = first + ordinal
            with judge.attempt("read", field.name, sample, [("field", field.name, sample)]):
                with raising(DataError, text):
                    try:
                        data, shape = reader.record(ordinal)
                    except Violation as violation:
                        raise violation.at(field=field.name, shard=shard, sample=sample) from None
                judge.record(field.name, sample, record_value(field, data, shape), "read")
        with judge.attempt("index", field.name), raising(DataError, text):
            try:
                reader.check_index()
            except Violation as violation:
                raise violation.at(field=field.name, shard=shard) from None
