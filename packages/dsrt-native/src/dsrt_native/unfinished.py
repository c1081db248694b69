"""What a build left beside its target that was not finished, or is just under way."""

import os
from dataclasses import dataclass
from pathlib import Path

from dsrt_native import _native

__all__ = ["Unfinished", "unfinished_build"]


@dataclass(frozen=True)
class Unfinished:
    """A work directory.

    Attributes:
        path: Where it is.
        durable_count: Samples that are durable.
        message: What it holds, and what to do about it.
    """

    path: Path
    durable_count: int
    message: str


def unfinished_build(path: str | os.PathLike[str]) -> Unfinished | None:
    """Return what lies beside the cache at a path, or beside the place for one; None if nothing does.

    Nothing is locked or changed: another process may be building there.

    Raises:
        OSError: It cannot be read.
    """
    found = _native.left_beside(path)
    if found is None:
        return None
    work, count, words, has_fingerprint, is_published = found
    if is_published:
        message = f"{work} was left by the run that published this cache; the next build of it removes it"
        return Unfinished(work, count, message)
    if has_fingerprint:
        then = "run the same build again, which goes on from there"
    else:
        then = "run the build again, which starts over"
    if words is None:
        words = "no durable samples"
    elif not has_fingerprint:
        words += ", and no fingerprint by which they could be used"
    message = (
        f"{work} holds a build that is not finished: {words}. "
        f"If no process is at it any more, {then}; or remove that directory"
    )
    return Unfinished(work, count, message)
