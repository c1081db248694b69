"""The validator: reads a whole cache and returns every problem, instead of raising the first."""

import os
from collections.abc import Callable, Iterator
from typing import get_args

from dsrt_format.codecs import Decoder
from dsrt_format.dictionary import check_dictionary_header, read_dictionary
from dsrt_format.directory import MAX_TRIES, CacheDirectory
from dsrt_format.entries import METADATA_NAME, Field
from dsrt_format.errors import UnreadError
from dsrt_format.header import HEADER_BYTES
from dsrt_format.manifest import Manifest, read_manifest
from dsrt_format.manifest_limits import limit_violations
from dsrt_format.rules import Violation
from dsrt_format.validate.metadata_file import metadata_violations
from dsrt_format.validate.problem import Level, Problem, Report
from dsrt_format.validate.progress import Progress
from dsrt_format.validate.shard_file import shard_violations
from dsrt_format.validate.unknown_files import unknown_files

__all__ = ["validate"]


def validate(
    path: str | os.PathLike[str],
    *,
    level: Level = "digests",
    progress: Callable[[int, int], None] | None = None,
) -> list[Problem]:
    """Check a whole cache and return every problem.

    Args:
        path: The directory of the cache.
        level: How much is looked at; each level finds all that the one before it finds.
            ``"structure"``: everything but the records' bytes: the manifest, lengths and headers of all
            files, indexes, dictionaries, metadata, and what does not belong to the cache (R000 to R032, R039
            to R046, R051, R053). ``"records"``: every record as well, as a read checks it, and that bools
            are 0 or 1 (R033 to R038, R052; of a record the first that it breaks). ``"digests"``: the digests
            of whole shard files as well (R050).
        progress: Called with the bytes that are done and those there are in all at this level. At the end all
            are done, unless a file could not be read. What it raises ends the run and comes up.

    Returns:
        The problems in a fixed order: the manifest by rule; of each field in the manifest's order the
        dictionary and then each shard, the file before its records; metadata; unknown files by path. Nothing
        but warnings, which unknown files are (`Problem.is_warning`), is a sound cache. At most 1,000 per
        rule are listed; at the end a problem of that rule, without a place, says how many more there are
        (`Problem.unlisted`).

        After R000 to R006 nothing else is looked at. Files of a field (with R021, the file) that the
        manifest describes wrongly are not opened, and no shard file is if a shard has an impossible number of
        samples. If a dictionary is damaged or cannot be read, the records of its field are checked up to
        their checksums. A file that becomes shorter while it is read ends there (R030).

    Raises:
        ValueError: There is no such level.
        UnreadError: Files or directories cannot be read; everything else was looked at. `problems` has
            what was found, `unread` an OSError for each of them.
        OSError: The directory or its manifest cannot be read.
        MemoryError: A compressed record or the metadata is larger than the memory.
    """
    if level not in get_args(Level):
        raise ValueError(f"level {level!r}: expected one of {', '.join(map(repr, get_args(Level)))}")
    for _ in range(MAX_TRIES):
        report = Report(os.fspath(path))
        try:
            with CacheDirectory(path) as directory:
                try:
                    _Validation(directory, read_manifest(directory), level, report, progress).run()
                except Violation as violation:
                    report.add(violation)
                # A rebuild removes the old cache, which says nothing of the one that is at the path now.
                is_lost = bool(report.unread) or not report.rules.isdisjoint(("R000", "R030"))
                is_old = is_lost and directory.is_replaced()
        except Violation as violation:
            report.add(violation)
            is_old = False
        if not is_old:
            break
    if report.unread:
        raise UnreadError(os.fspath(path), report.unread, report.problems())
    return report.problems()


class _Validation:
    """One run over the files of a cache whose manifest could be read."""

    def __init__(
        self,
        directory: CacheDirectory,
        manifest: Manifest,
        level: Level,
        report: Report,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._directory = directory
        self._manifest = manifest
        self._level: Level = level
        self._report = report
        self._wrong_fields: set[str] = set()
        self._wrong_files: set[tuple[str, int | None]] = set()
        self._check_limits()
        self._fields = [field for field in manifest.fields if field.name not in self._wrong_fields]
        self._metadata = None if "R012" in report.rules else manifest.metadata
        self._progress = Progress(progress, self._total())

    def run(self) -> None:
        for field in self._fields:
            self._check_field(field)
        self._check_metadata()
        self._check_unknown()

    def _check_limits(self) -> None:
        """Check the values of the manifest, and note which files it describes too wrongly to be opened."""
        for violation in limit_violations(self._manifest):
            self._report.add(violation)
            if violation.rule == "R021" and violation.field is not None:
                self._wrong_files.add((violation.field, violation.shard))
            elif violation.field is not None:
                self._wrong_fields.add(violation.field)
        self._report.sort_by_rule()

    def _shards(self, field: Field) -> Iterator[tuple[int, int, int]]:
        """Yield for each shard whose file is opened its number, its first sample and how many it has."""
        first = 0
        for shard, count in enumerate(self._manifest.shards if "R010" not in self._report.rules else ()):
            if (field.name, shard) not in self._wrong_files:
                yield shard, first, count
            first += count

    def _work(self, field: Field, shard: int, count: int) -> int:
        """Return how many bytes of a shard file are read."""
        whole = field.files[shard].bytes
        return whole if self._level != "structure" else HEADER_BYTES + count * field.entry_bytes

    def _total(self) -> int:
        total = 0 if self._metadata is None else self._metadata.bytes
        for field in self._fields:
            total += 0 if field.dictionary is None else field.dictionary.bytes
            total += sum(self._work(field, shard, count) for shard, _, count in self._shards(field))
        return total

    def _check_field(self, field: Field) -> None:
        decoder = self._decoder(field)
        for shard, first, count in self._shards(field):
            self._progress.begin(self._work(field, shard, count), 2 if self._level == "digests" else 1)
            try:
                with self._directory.open(field.file_name(shard), field.files[shard].bytes) as file:
                    for ordinal, violation in shard_violations(
                        file, field, shard, count, decoder, self._level, self._progress.advance
                    ):
                        sample = None if ordinal is None else first + ordinal
                        self._report.add(violation.at(field=field.name, shard=shard, sample=sample))
            except Violation as violation:
                self._report.add(violation.at(field=field.name, shard=shard))
            except MemoryError as error:
                error.add_note(f"in field {field.name!r}, shard {shard} of {self._directory.path!r}")
                raise
            except OSError as error:
                self._refused(error)
                continue
            self._progress.end()

    def _decoder(self, field: Field) -> Decoder | None:
        """Return the decoder of a field, or None if its dictionary is damaged or unread."""
        if field.dictionary is None:
            return Decoder()
        self._progress.begin(field.dictionary.bytes)
        try:
            with self._directory.open(field.dictionary_name, field.dictionary.bytes) as file:
                try:
                    check_dictionary_header(file, field.dictionary)
                except Violation as violation:
                    self._report.add(violation.at(field=field.name))
                decoder = Decoder(read_dictionary(file, field.dictionary))
        except Violation as violation:
            self._report.add(violation.at(field=field.name))
            decoder = None
        except OSError as error:
            self._refused(error)
            return None
        self._progress.end()
        return decoder

    def _check_metadata(self) -> None:
        if (entry := self._metadata) is None:
            return
        self._progress.begin(entry.bytes)
        names = {field.name for field in self._manifest.fields}
        try:
            with self._directory.open(METADATA_NAME, entry.bytes) as file:
                for violation in metadata_violations(
                    file, entry, self._manifest.num_samples, names, self._progress.advance
                ):
                    self._report.add(violation)
        except Violation as violation:
            self._report.add(violation)
        except OSError as error:
            self._refused(error)
            return
        self._progress.end()

    def _check_unknown(self) -> None:
        self._progress.begin(0)
        try:
            unknown, more = unknown_files(self._directory, self._manifest)
        except OSError as error:
            self._refused(error)
            return
        for violation in unknown:
            self._report.add(violation)
        self._report.count("R053", more)

    def _refused(self, error: OSError) -> None:
        """Note the error of a file that the system refuses, after which the next one is looked at."""
        if error is self._progress.raised:
            raise error
        self._report.refused(error)
        self._progress.give_up()
