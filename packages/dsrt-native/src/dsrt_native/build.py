"""Building a cache from a source, or finding that it is there already."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from dsrt_format import (
    CacheExistsError,
    FormatError,
    Manifest,
    NotPublishedError,
    SchemaError,
    StaleCacheError,
)
from dsrt_format.names import cache_name_problem
from dsrt_native.arguments import word
from dsrt_native.cache import Cache
from dsrt_native.sources import Source, samples_of, size_of
from dsrt_native.writer import SAMPLES_PER_SHARD, SHARD_BYTES, CacheWriter

__all__ = ["BuildResult", "build"]

OnStale = Literal["error", "rebuild", "reuse"]

_PROGRESS_SECONDS = 0.1


@dataclass(frozen=True)
class BuildResult:
    """What became of a source.

    Attributes:
        name: The name of the cache.
        path: Where it is.
        status: ``"built"``, ``"reused"`` (nothing was written) or ``"rebuilt"`` (another cache was replaced).
        num_samples: Samples in it.
    """

    name: str
    path: Path
    status: Literal["built", "reused", "rebuilt"]
    num_samples: int


def build(
    source: Source,
    root: str | os.PathLike[str],
    *,
    on_stale: OnStale = "error",
    samples_per_shard: int | None = None,
    shard_bytes: int | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> BuildResult:
    """Build the cache ``root/<source.name>``, or reuse it if it was built from the same.

    A published cache is reused when its name and its fingerprint, which must not be None, equal the source's.
    In the end there is a complete cache or what was there before; an exception, Ctrl-C or a kill leaves
    nothing half done.

    Args:
        source: See `Source`.
        root: The directory of caches. It is made if it is missing.
        on_stale: What to do about a published cache with another fingerprint or name, or if there is no
            fingerprint to compare: ``"error"``, ``"rebuild"`` it (readers find the old one until the new one
            is complete), or ``"reuse"`` it as it is.
        samples_per_shard: As for `CacheWriter`; comes before the source's own wish.
        shard_bytes: Likewise.
        progress: Called with the number of samples done and the number of all, None if the source does not
            say: at the beginning, at the end, and at most ten times a second between them.

    Raises:
        StaleCacheError: The cache there was built from something else, and `on_stale` is ``"error"``.
        CacheExistsError: Something is there that is no cache, or a cache, and there is no fingerprint to
            compare it by.
        CacheLockedError: Another process builds this cache.
        FormatError: The cache there is damaged or of another version. ``"rebuild"`` replaces one whose files
            are missing or short, if its manifest is sound.
        SchemaError: A sample does not fit; the message names field and sample.
        TypeError: `source` is no source.
        Exception: Whatever the source raises, with a note that says at which sample.
    """
    word("on_stale", on_stale, get_args(OnStale))
    for attribute in ("name", "fields", "metadata"):
        if not hasattr(source, attribute):
            raise TypeError(f"{type(source).__qualname__} is no source: it has no attribute {attribute!r}")
    if (problem := cache_name_problem(source.name)) is not None:
        raise SchemaError(f"{source.name!r} cannot be the name of a cache: {problem}")
    path = Path(root, source.name)
    options = {
        "fingerprint": getattr(source, "fingerprint", None),
        "attributes": getattr(source, "attributes", {}),
        "samples_per_shard": _first(samples_per_shard, source, "samples_per_shard", SAMPLES_PER_SHARD),
        "shard_bytes": _first(shard_bytes, source, "shard_bytes", SHARD_BYTES),
    }
    tried = False
    while True:
        found = _published(path, on_stale)
        if found is not None and _is_wanted(found, source, path, on_stale):
            return BuildResult(source.name, path, "reused", found.num_samples)
        try:
            writer = CacheWriter(path, source.fields, source.metadata, **options, replace=found is not None)
        except CacheExistsError:
            # A cache that appeared just now: of another process, or put back from a rebuild that died.
            if tried or found is not None or not os.path.lexists(path):
                raise
            tried = True
        else:
            count = _write(writer, source, progress)
            return BuildResult(source.name, path, "built" if found is None else "rebuilt", count)


def _first(argument: int | None, source: Source, name: str, default: int) -> Any:
    if argument is not None:
        return argument
    wish = getattr(source, name, None)
    return default if wish is None else wish


def _published(path: Path, on_stale: OnStale) -> Manifest | None:
    """Return the manifest of the cache at a path, or None if nothing is there.

    That the files have their lengths is found out, too: what is reused must be whole.
    """
    if not os.path.lexists(path):
        return None
    try:
        manifest = Manifest.load(path)
    except NotPublishedError:
        raise CacheExistsError(
            f"{path} exists and is not a cache, so it is left alone; choose another root, or remove it"
        ) from None
    try:
        Cache.open(path).close()
    except FormatError as error:
        if on_stale != "rebuild":
            error.add_note("on_stale='rebuild' replaces this cache, which is not whole")
            raise
        # No fingerprint equals this one, so that it is not reused.
        return replace(manifest, fingerprint=None)
    return manifest


def _is_wanted(found: Manifest, source: Source, path: Path, on_stale: OnStale) -> bool:
    """Return whether the cache that is there is to be used; False means that it is to be replaced."""
    fingerprint = getattr(source, "fingerprint", None)
    if found.name == source.name and fingerprint is not None and found.fingerprint == fingerprint:
        return True
    if on_stale != "error":
        return on_stale == "reuse"
    choices = (
        "on_stale='rebuild' replaces it, on_stale='reuse' takes it as it is, "
        "and a source of another name is built beside it"
    )
    if fingerprint is None:
        raise CacheExistsError(
            f"{path} is a published cache, and the source has no fingerprint to compare it by. Give the "
            f"source one, see dsrt_format.fingerprint; or: {choices}"
        )
    raise StaleCacheError(
        f"{path} was built from something else: its name is {found.name!r} and its fingerprint "
        f"{found.fingerprint!r}, the source's are {source.name!r} and {fingerprint!r}. {choices}"
    )


def _write(writer: CacheWriter, source: Source, progress: Callable[[int, int | None], object] | None) -> int:
    with writer:
        try:
            total = size_of(source)
            due = 0.0
            for sample in samples_of(source):
                if progress is not None and (now := time.monotonic()) >= due:
                    progress(writer.count, total)
                    due = now + _PROGRESS_SECONDS
                writer.append(sample)
        except Exception as error:
            kind = f"{type(source).__module__}.{type(source).__qualname__}"
            error.add_note(f"while building {source.name!r} from {kind}, at sample {writer.count}")
            raise
    if progress is not None:
        progress(writer.count, total)
    return writer.count
