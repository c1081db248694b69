"""Every problem of a cache, at the speed of the disk."""

import math
import os
from collections.abc import Callable
from typing import get_args

from dsrt_format import UnreadError
from dsrt_format.validate import Level, Problem
from dsrt_native import _native
from dsrt_native.arguments import callback, whole

__all__ = ["verify"]


def verify(
    path: str | os.PathLike[str],
    *,
    level: Level = "digests",
    part: tuple[int, int] = (0, 1),
    rate: float | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[Problem]:
    """Return every problem of a cache, as `dsrt_format.validate` does, on all cores, reading each file once.

    Files are read without pushing other data out of the page cache: what had to be read from the disk is
    dropped again, what was there before stays.

    Args:
        path: The directory of the cache.
        level: ``"structure"`` looks at everything but the bytes of the records: the manifest, that every file
            is there with the right length and header, indexes, dictionaries, metadata. ``"records"`` also
            reads every record with all checks of reading, and ``"digests"`` also proves every file as a
            whole. Each finds all that the one before it finds.
        part: ``(k, n)``, to divide the work: shard files are cut in n parts of about equal bytes, and this
            looks at part k, counted from 0. What is no shard file belongs to part 0. A problem is found in
            one of the parts; a manifest that cannot be read at all, in each.
        rate: The most bytes per second, over all threads; None is as fast as it goes.
        threads: The most threads; None is one for each CPU that this process may use.
        progress: Called on this thread with the bytes that are done and those there are in all (of this part
            and level): at the beginning, at the end, and about 20 times a second between them. At the end all
            are done, unless a file could not be read. What it raises ends the run and comes up.

    Returns:
        The problems in the order of the files, whatever the threads; a list with nothing but warnings is a
        sound cache. Of each rule at most 1,000 are listed; a last one, without a place, says how many more
        there are (`Problem.unlisted`).

    Raises:
        UnreadError: Files or directories cannot be read; everything else was looked at. `problems` has
            what was found, `unread` an OSError for each of them.
        OSError: The directory or its manifest cannot be read, or no thread started.
        MemoryError: A record or the metadata is larger than the memory.
        ValueError: A level, part, rate or number of threads that cannot be.
        TypeError: An argument has another type.
    """
    if level not in get_args(Level):
        raise ValueError(f"level={level!r}: expected one of {', '.join(map(repr, get_args(Level)))}")
    found, refused = _native.verify(
        path,
        level=level,
        part=_part(part),
        rate=None if rate is None else _rate(rate),
        threads=_native.cpus() if threads is None else whole("threads", threads, 1),
        progress=None if progress is None else callback("progress", progress),
    )
    cache = os.fspath(path)
    problems = [
        Problem(rule, cache, field, shard, sample, text, unlisted)
        for rule, field, shard, sample, text, unlisted in found
    ]
    if refused:
        raise UnreadError(cache, [OSError(code, os.strerror(code), file) for file, code in refused], problems)
    return problems


def _part(part: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(part, tuple | list) or len(part) != 2:
        raise TypeError(f"part={part!r}: expected a pair, such as (0, 4) for the first of four")
    count = whole("the second of part", part[1], 1)
    return whole("the first of part", part[0], 0, count - 1), count


def _rate(rate: float) -> float:
    if isinstance(rate, bool) or not isinstance(rate, int | float):
        raise TypeError(f"rate={rate!r}: expected a number of bytes per second")
    if not (rate > 0 and math.isfinite(rate)):
        raise ValueError(f"rate={rate!r}: expected a number of bytes per second greater than 0")
    return float(rate)
