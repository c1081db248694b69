"""Building caches from sources: what was built already is reused, and what crashed goes on."""

import inspect
import os
import traceback
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from dsrt_format import CacheExistsError, SchemaError, Zstd
from dsrt_format.names import cache_name_problem
from dsrt_format.schema import check_fingerprint
from dsrt_native import _native
from dsrt_native.arguments import callback, whole, word
from dsrt_native.progress import Meter, Report
from dsrt_native.published import OnStale, is_wanted, published
from dsrt_native.sources import (
    Source,
    check_source,
    has_random_access,
    miscounted,
    optional,
    samples_from,
    size_of,
)
from dsrt_native.writer import SAMPLES_PER_SHARD, SHARD_BYTES, CacheWriter

__all__ = ["BuildResult", "build", "build_all"]


@dataclass(frozen=True)
class BuildResult:
    """What became of a source.

    Attributes:
        name: The name of the cache.
        path: Where it is.
        status: ``"built"``, ``"reused"`` (nothing was written), ``"rebuilt"`` (another cache was replaced) or
            ``"failed"`` (only of `build_all`).
        num_samples: Samples in it; 0 where it failed.
        resumed_from: Of these, samples that an earlier run had made.
        error: What was raised, where it failed.
        traceback: The traceback of the error as text, with what it says is kept.
        restarted: Why durable samples of an earlier run, or some of them, were not used; None if there were
            none, or all were.
    """

    name: str
    path: Path
    status: Literal["built", "reused", "rebuilt", "failed"]
    num_samples: int
    resumed_from: int = 0
    error: Exception | None = None
    traceback: str | None = None
    restarted: str | None = None


def build(
    source: Source,
    root: str | os.PathLike[str],
    *,
    workers: int = 0,
    threads: int | None = None,
    on_stale: OnStale = "error",
    resume: bool = True,
    samples_per_shard: int | None = None,
    shard_bytes: int | None = None,
    progress: Report | None = None,
) -> BuildResult:
    """Build the cache ``root/<source.name>``, or go on with it, or reuse it if it was built from the same.

    A published cache is reused when its name, its fields and columns, and its fingerprint, which must not be
    None, are the source's. Codecs and attributes are not compared.

    A build that was ended by an exception, Ctrl-C, kill -9, a full disk or a power cut is gone on with if the
    source has a fingerprint: every closed shard is kept, and only samples behind it are asked for again. The
    cache appears when it is complete; until then there is what was there before. Its bytes depend on the
    source's samples alone, not on workers, threads or interruptions.

    Args:
        source: See `Source`.
        root: The directory of caches. It is made if it is missing.
        workers: Processes that make samples, 0 for none. They need a source with ``__getitem__`` and
            ``__len__`` that can be pickled; each gets a copy of it and is asked for ranges of numbers. They
            import the script that calls this, so guard it with ``if __name__ == "__main__":``.
        threads: As for `CacheWriter`: threads that compress, digest and write.
        on_stale: What to do about a published cache with another fingerprint, name or schema, or if there is
            no fingerprint to compare: ``"error"``, ``"rebuild"`` it (readers find the old one until the new
            one is complete), or ``"reuse"`` it as it is.
        resume: Whether durable samples of an earlier run are used; False starts over.
        samples_per_shard: As for `CacheWriter`; comes before the source's own wish.
        shard_bytes: Likewise.
        progress: Called with a `BuildProgress` at the beginning, at the end, and at most ten times a second
            between them.

    Raises:
        StaleCacheError: The cache there was built from something else, and `on_stale` is ``"error"``. Or the
            source ends before the durable samples of an earlier run do.
        CacheExistsError: Something is there that is no cache, or a cache, and there is no fingerprint to
            compare it by.
        CacheLockedError: Another process builds this cache.
        FormatError: The cache there is damaged or of another version. ``"rebuild"`` replaces one whose files
            are missing or short, if its manifest is sound.
        SchemaError: A sample does not fit; the message names field and sample. Or there are more or fewer
            samples than the source says by ``__len__``.
        TypeError: `source` is no source, or none that workers can share.
        WorkerError: A worker process died; it says by which signal, or with what exit code.
        Exception: Whatever the source raises, with notes that say at which sample, and how many samples are
            durable.
    """
    word("on_stale", on_stale, get_args(OnStale))
    check_source(source)
    if whole("workers", workers, 0, 1024) and not has_random_access(source):
        raise TypeError(
            f"workers={workers}: processes share a source by numbers, and {type(source).__qualname__} has no "
            "__getitem__ and __len__; give it these, or use workers=0"
        )
    if (problem := cache_name_problem(source.name)) is not None:
        raise SchemaError(f"{source.name!r} cannot be the name of a cache: {problem}")
    if not isinstance(resume, bool):
        raise TypeError(f"resume={resume!r}: expected True or False")
    if workers:
        # Before anything is locked: this may be a worker that imports an unguarded script.
        from dsrt_native._processes import check

        check()
    report = None if progress is None else callback("progress", progress)
    # Once: it may be made of many files.
    fingerprint = check_fingerprint(optional(source, "fingerprint"))
    path = Path(root, source.name)
    options = {
        "fingerprint": fingerprint,
        "attributes": optional(source, "attributes") or {},
        "threads": threads,
        "resume": resume,
        "samples_per_shard": _first(samples_per_shard, source, "samples_per_shard", SAMPLES_PER_SHARD),
        "shard_bytes": _first(shard_bytes, source, "shard_bytes", SHARD_BYTES),
    }
    tried = False
    while True:
        found = published(path, on_stale)
        if found is not None and is_wanted(found, source, fingerprint, on_stale):
            # The run that published it may have died before it had removed its work directory.
            _native.tidy(path)
            return BuildResult(source.name, path, "reused", found.manifest.num_samples)
        try:
            writer = CacheWriter(path, source.fields, source.metadata, **options, replace=found is not None)
        except CacheExistsError:
            # A cache that appeared just now: of another process, or put back from a rebuild that died.
            if tried or found is not None or not os.path.lexists(path):
                raise
            tried = True
        else:
            try:
                _write(writer, source, workers, report)
            except BaseException as error:
                _say_why_nothing_is_kept(error, writer, source, options)
                raise
            status: Literal["built", "rebuilt"] = "built" if found is None else "rebuilt"
            return BuildResult(
                source.name,
                path,
                status,
                writer.count,
                resumed_from=writer.resumed_from,
                restarted=writer.restarted,
            )


def build_all(sources: Iterable[Source], root: str | os.PathLike[str], **arguments: Any) -> list[BuildResult]:
    """Build several sources, one after the other; one that fails stops no other.

    Args:
        sources: See `build`. A source may fail to be drawn from the iterable only by ending everything.
        root: See `build`.
        arguments: All others of `build`.

    Returns:
        One result a source, in order. Where a source failed its status is ``"failed"``, `error` is what was
        raised and `traceback` says where; the next call goes on with it. Ctrl-C ends everything.

    Raises:
        TypeError: An argument that `build` does not have.
    """
    inspect.signature(build).bind(None, root, **arguments)
    results: list[BuildResult] = []
    for source in sources:
        name = type(source).__qualname__
        try:
            name = str(getattr(source, "name", name))
            if any(result.name == name for result in results):
                raise SchemaError(f"two sources are called {name!r}, and would be built to one place")
            results.append(build(source, root, **arguments))
        except Exception as error:
            text = "".join(traceback.format_exception(error))
            results.append(BuildResult(name, Path(root, name), "failed", 0, error=error, traceback=text))
    return results


def _say_why_nothing_is_kept(
    error: BaseException, writer: CacheWriter, source: Source, options: dict[str, Any]
) -> None:
    """Note on an error why the next run has to begin anew, if it has to and what to do is known."""
    count, most = writer.count, options["samples_per_shard"]
    if options["fingerprint"] is None or writer.durable_count or not count:
        return
    codecs = [getattr(field, "codec", None) for field in source.fields.values()]
    if any(isinstance(codec, Zstd) and codec.dictionary == "train" for codec in codecs):
        error.add_note(
            f"none of {count} samples is kept: no shard was full, or they were held back to train a "
            "dictionary on; with one from train_dictionary nothing is held back"
        )
    elif count < most:  # with more of them, a shard was full and the disk did not take it
        error.add_note(
            f"no shard was full, so none of {count} samples is kept; with a smaller samples_per_shard, such "
            f"as {min(64, most // 2)}, the next run would go on from the last full one"
        )


def _first(argument: int | None, source: Source, name: str, default: int) -> Any:
    if argument is not None:
        return argument
    wish = optional(source, name)
    return default if wish is None else wish


def _write(writer: CacheWriter, source: Source, workers: int, report: Report | None) -> None:
    meter = None
    with writer:
        try:
            start = writer.resumed_from
            size = size_of(source, start)
            meter = None if report is None else Meter(report, source.name, size, start)
            with closing(_samples(source, start, workers)) as samples:
                for sample in samples:
                    if writer.count == size:
                        raise miscounted(source, size, "gives more")
                    writer.append(sample)
                    if meter is not None:
                        meter.count(writer.count)
            if size is not None and writer.count < size:
                raise miscounted(source, size, f"ends after {writer.count}")
        except Exception as error:
            kind = f"{type(source).__module__}.{type(source).__qualname__}"
            error.add_note(f"while building {source.name!r} from {kind}, at sample {writer.count}")
            raise
    if meter is not None:
        try:
            meter.tell(writer.count)
        except Exception as error:
            error.add_note(f"{writer.path} is published; only the last report of progress failed")
            raise


def _samples(source: Source, start: int, workers: int) -> Generator[dict[str, Any], None, None]:
    if workers:
        # Brings in multiprocessing, which builds without workers do not need.
        from dsrt_native.ranges import samples_by_workers

        yield from samples_by_workers(source, start, workers)
    else:
        yield from samples_from(source, start)
