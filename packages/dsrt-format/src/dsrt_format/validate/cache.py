"""The validator: reads everything and returns every problem, instead of raising the first."""

import os
from collections.abc import Callable

from dsrt_format.codecs import Decoder
from dsrt_format.dictionary import check_dictionary_header, read_dictionary
from dsrt_format.directory import CacheDirectory
from dsrt_format.entries import METADATA_NAME, Field
from dsrt_format.manifest import Manifest, read_manifest
from dsrt_format.manifest_limits import limit_violations
from dsrt_format.metadata import arrow_table, chunk_violations, map_file, weight_violations
from dsrt_format.rules import Violation
from dsrt_format.shard import ShardReader
from dsrt_format.validate.problem import Problem, Report

__all__ = ["validate"]


def validate(
    path: str | os.PathLike[str], *, progress: Callable[[int, int], None] | None = None
) -> list[Problem]:
    """Read a whole cache with every check of reading (R000 to R046) and return every problem.

    Args:
        path: The directory of the cache.
        progress: Called after every file with the bytes that are done and those there are in all.

    Returns:
        The problems in the order of the files; an empty list is a sound cache. At most 1,000 per rule; a
        last problem of that rule, without a place, says how many more there are. After R000 to R006 nothing
        else is looked at. Files of a field (with R021, the file) that the manifest describes wrongly are not
        opened, and no shard file is if a shard has an impossible number of samples. If a dictionary is
        damaged, the records of its field are checked up to their checksums.

    Raises:
        OSError: A file that is there cannot be read.
        MemoryError: A record or the metadata is larger than the memory.
    """
    report = Report(os.fspath(path))
    try:
        with CacheDirectory(path) as directory:
            _Validation(directory, read_manifest(directory), report, progress).run()
    except Violation as violation:
        report.add(violation)
    return report.problems()


class _Validation:
    """One run over the files of a cache whose manifest could be read."""

    def __init__(
        self,
        directory: CacheDirectory,
        manifest: Manifest,
        report: Report,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._directory = directory
        self._manifest = manifest
        self._report = report
        self._progress = progress
        self._done = 0
        self._total = sum(max(length, 0) for _, length, _, _ in manifest.files())
        self._rules: set[str] = set()
        self._wrong_fields: set[str] = set()
        self._wrong_files: set[tuple[str, int | None]] = set()

    def run(self) -> None:
        self._check_limits()
        for field in self._manifest.fields:
            if field.name not in self._wrong_fields:
                self._check_field(field)
        if self._manifest.metadata is not None and "R012" not in self._rules:
            self._check_metadata()
        if self._progress is not None and self._done < self._total:
            self._progress(self._total, self._total)

    def _check_limits(self) -> None:
        """Check the values of the manifest, and note which files it describes too wrongly to be opened."""
        for violation in limit_violations(self._manifest):
            self._report.add(violation)
            self._rules.add(violation.rule)
            if violation.rule == "R021" and violation.field is not None:
                self._wrong_files.add((violation.field, violation.shard))
            elif violation.field is not None:
                self._wrong_fields.add(violation.field)
        self._report.sort_by_rule()

    def _advance(self, length: int) -> None:
        self._done += length
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _check_field(self, field: Field) -> None:
        decoder = self._decoder(field)
        first = 0
        for shard, count in enumerate(self._manifest.shards if "R010" not in self._rules else ()):
            if (field.name, shard) not in self._wrong_files:
                try:
                    self._check_shard(field, shard, first, count, decoder)
                except Violation as violation:
                    self._report.add(violation.at(field=field.name, shard=shard))
                self._advance(field.files[shard].bytes)
            first += count

    def _decoder(self, field: Field) -> Decoder | None:
        """Return the decoder of a field, or None if its dictionary is damaged."""
        if field.dictionary is None:
            return Decoder()
        try:
            with self._directory.open(field.dictionary_name, field.dictionary.bytes) as file:
                try:
                    check_dictionary_header(file, field.dictionary)
                except Violation as violation:
                    self._report.add(violation.at(field=field.name))
                return Decoder(read_dictionary(file, field.dictionary))
        except Violation as violation:
            self._report.add(violation.at(field=field.name))
            return None
        finally:
            self._advance(field.dictionary.bytes)

    def _check_shard(self, field: Field, shard: int, first: int, count: int, decoder: Decoder | None) -> None:
        with self._directory.open(field.file_name(shard), field.files[shard].bytes) as file:
            reader = ShardReader(file, field, shard, count, lambda: decoder or Decoder())
            for check in (reader.check_header, reader.check_index):
                try:
                    check()
                except Violation as violation:
                    self._report.add(violation.at(field=field.name, shard=shard))
            read = reader.stored if decoder is None else reader.record
            for ordinal in range(count):
                try:
                    read(ordinal)
                except Violation as violation:
                    if violation.rule == "R030":
                        raise
                    self._report.add(violation.at(field=field.name, shard=shard, sample=first + ordinal))

    def _check_metadata(self) -> None:
        entry = self._manifest.metadata
        assert entry is not None
        try:
            with self._directory.open(METADATA_NAME, entry.bytes) as file:
                data = map_file(file)
            sound = True
            for violation in chunk_violations(data, entry):
                sound = False
                self._report.add(violation)
            if sound:
                names = {field.name for field in self._manifest.fields}
                for violation in weight_violations(arrow_table(data, self._manifest.num_samples, names)):
                    self._report.add(violation)
        except Violation as violation:
            self._report.add(violation)
        self._advance(entry.bytes)
