"""What `dsrt verify` finds out about one path, and how it is written for scripts."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dsrt_cli.terminal import with_notes
from dsrt_format import (
    DsrtError,
    FormatError,
    Manifest,
    NotPublishedError,
    Problem,
    UnknownVersionError,
    UnreadError,
)

__all__ = ["WHOLE", "Finding", "Verify", "count", "lines", "look"]

Verify = Callable[[Path, Callable[[int, int], None]], list[Problem]]
"""Checks the cache at a path and reports bytes done and bytes in all on the way."""

WHOLE = (0, 1)
"""The one part of a cache that is not divided."""


@dataclass(frozen=True)
class Finding:
    """What there is to say about one path.

    Attributes:
        path: As it was given.
        status: ``"sound"``, which a cache with nothing but warnings is; ``"damaged"``; or ``"unseen"``: it
            or something in it could not be looked at, and no damage was found.
        manifest: What the cache holds; None if it is unseen or the manifest is damaged.
        problems: What is damaged.
        warnings: What does not make it unsound.
        unread: The error of each of its files that could not be read, where the others were.
        message: Why it, or something in it, could not be looked at.
        bytes_read: Bytes of its files that were looked at, up to the error that ended it.
        seconds: How long that took.
    """

    path: str
    status: Literal["sound", "damaged", "unseen"]
    manifest: Manifest | None = None
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    unread: list[OSError] = field(default_factory=list)
    message: str | None = None
    bytes_read: int = 0
    seconds: float = 0.0


def look(path: Path, verify: Verify, report: Callable[[int, int], None]) -> Finding:
    """Check the cache at a path.

    Args:
        path: The directory.
        verify: How it is checked.
        report: Told how many bytes are done and how many there are.
    """
    manifest: Manifest | None = None
    done, start = 0, time.monotonic()

    def advance(now: int, total: int) -> None:
        nonlocal done
        done = now
        report(now, total)

    def unseen(message: str) -> Finding:
        seconds = time.monotonic() - start
        return Finding(str(path), "unseen", manifest, message=message, bytes_read=done, seconds=seconds)

    try:
        manifest = Manifest.load(path)
    except (NotPublishedError, UnknownVersionError, OSError, MemoryError) as error:
        return unseen(with_notes(error))
    except FormatError:
        pass  # the list of all problems says more about a damaged manifest than this first error
    unread: list[OSError] = []
    message: str | None = None
    try:
        found = verify(path, advance)
    except UnreadError as error:
        found, unread, message = error.problems, error.unread, with_notes(error)
    except (DsrtError, OSError, MemoryError) as error:
        return unseen(with_notes(error))
    if any(problem.rule in ("R000", "R005") for problem in found):
        manifest = None  # it was there a moment ago
        return unseen(str(found[0]))
    problems = [problem for problem in found if not problem.is_warning]
    return Finding(
        str(path),
        "damaged" if problems else "unseen" if unread else "sound",
        manifest,
        problems,
        [problem for problem in found if problem.is_warning],
        unread,
        message,
        bytes_read=done,
        seconds=time.monotonic() - start,
    )


def count(problems: list[Problem]) -> int:
    """Return how many problems a list stands for, those that are not listed among them."""
    return sum(problem.unlisted or 1 for problem in problems)


def lines(finding: Finding, level: str, part: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """Yield what `--json` prints of a path: an object per problem and unread file, and the summary."""
    for problem in [*finding.problems, *finding.warnings]:
        yield {
            "type": "problem",
            "path": finding.path,
            "rule": problem.rule,
            "kind": problem.kind,
            "warning": problem.is_warning,
            "field": problem.field,
            "shard": problem.shard,
            "sample": problem.sample,
            "unlisted": problem.unlisted,
            "message": problem.message,
        }
    for error in finding.unread:
        yield {
            "type": "unread",
            "path": finding.path,
            "file": error.filename,
            "errno": error.errno,
            "message": error.strerror,
        }
    manifest = finding.manifest
    yield {
        "type": "summary",
        "path": finding.path,
        "status": finding.status,
        "level": level,
        "part": list(part),
        "problems": count(finding.problems),
        "warnings": count(finding.warnings),
        "unread": len(finding.unread),
        "samples": None if manifest is None else manifest.num_samples,
        "bytes": None if manifest is None else manifest.total_bytes,
        "bytes_read": finding.bytes_read,
        "seconds": round(finding.seconds, 3),
        "message": finding.message,
    }
