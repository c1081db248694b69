"""One run of a build, as a child process does it, and what it reports while it lives."""

import json
import os
import resource
import signal
import sys
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dsrt_format import CacheExistsError, Dense, DsrtError
from dsrt_native import CacheWriter, build, merge
from tests.survival.recipes import STYLES, Source

BATCH = 37

channel = 1
"""The descriptor of reports. No other process inherits it, so that nobody's words come between them."""


@dataclass(frozen=True)
class Job:
    """What to build, by which way of the public surface, and under which limits.

    Attributes:
        root: The directory of the cache, which is called ``target``.
        recipe, version, fingerprint: The source; see `tests.survival.recipes`.
        way: ``"build"``; ``"append"`` and ``"batch"``, which drive a `CacheWriter` themselves; ``"merge"``.
        style: How the source gives its samples.
        seconds: How long it takes for all of them at least.
        rebuild: Whether a published cache of another version is replaced.
        gated: Whether to wait for a line on standard input before the build.
        file_bytes: Limit of the size of a file (RLIMIT_FSIZE), None for none.
        open_files: Limit of descriptors beyond those that are open, None for none.
        user: The user to become before the build, None to stay.
        umask: The umask to build with, None for that of the harness.
        parts, link: What to merge, and whether by hard links.
    """

    root: str
    recipe: str
    version: int = 1
    fingerprint: bool = True
    way: str = "build"
    style: str = "indices"
    seconds: float = 0
    workers: int = 0
    threads: int | None = None
    rebuild: bool = False
    gated: bool = False
    file_bytes: int | None = None
    open_files: int | None = None
    user: int | None = None
    umask: int | None = None
    parts: tuple[str, ...] = ()
    link: bool = True

    def unlimited(self) -> "Job":
        """Return the same job without limits."""
        return replace(self, file_bytes=None, open_files=None, user=None, umask=None)


def report(event: str, **values: Any) -> None:
    """Write one line at once, whatever happens to this process in the next instant."""
    os.write(channel, json.dumps({"event": event, "at": time.monotonic(), **values}).encode() + b"\n")


def run(job: Job) -> int:
    """Do a job. The reports are: open, durable (each time it rises), warned, and done or failed."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, *_: report("warned", message=str(message))
    _limit(job)
    try:
        if job.gated:
            sys.stdin.readline()
        if job.way == "build":
            _build(job)
        elif job.way == "merge":
            _merge(job)
        else:
            _write(job)
    except BaseException as error:
        # Who presses Ctrl-C again has been heard already.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        known = isinstance(error, DsrtError | OSError | KeyboardInterrupt)
        text = "\n".join([str(error), *getattr(error, "__notes__", [])])
        number = getattr(error, "errno", None)
        report("failed", kind=type(error).__name__, errno=number, message=text, known=known)
        return 1
    return 0


def _limit(job: Job) -> None:
    if job.file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job.file_bytes, job.file_bytes))
    if job.open_files is not None:
        used = len(os.listdir("/proc/self/fd")) - 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + job.open_files, used + job.open_files))
    if job.umask is not None:
        os.umask(job.umask)
    if job.user is not None:
        os.setgroups([])
        os.setgid(job.user)
        os.setuid(job.user)


def _source(job: Job) -> Source:
    return Source(job.recipe, job.version, fingerprint=job.fingerprint, seconds=job.seconds)


def _build(job: Job) -> None:
    source = STYLES[job.style](_source(job))
    opened = False

    def progress(now: Any) -> None:
        nonlocal opened
        if not opened:
            opened = True
            report("open", resumed=now.resumed_from)

    on_stale = "rebuild" if job.rebuild else "error"
    result = build(
        source, job.root, workers=job.workers, threads=job.threads, on_stale=on_stale, progress=progress
    )
    report(
        "done",
        status=result.status,
        resumed=result.resumed_from,
        restarted=result.restarted,
        samples=result.num_samples,
    )


def _merge(job: Job) -> None:
    report("open", resumed=0)
    cache = merge(job.parts, Path(job.root, Source.name), link=job.link)
    report("done", status="built", resumed=0, restarted=None, samples=len(cache))


def _column(name: str, source: Source, samples: list[dict[str, Any]]) -> Any:
    values = [one[name] for one in samples]
    field = source.fields.get(name)
    return np.array(values, field.dtype) if isinstance(field, Dense) else values


def _write(job: Job) -> None:
    source = _source(job)
    sizes = {
        "samples_per_shard": source.samples_per_shard,
        "shard_bytes": source.shard_bytes,
    }
    try:
        writer = CacheWriter(
            Path(job.root, source.name),
            source.fields,
            source.metadata,
            fingerprint=source.fingerprint,
            attributes=source.attributes,
            threads=job.threads,
            resume=True if job.fingerprint else None,
            replace=job.rebuild,
            **{name: size for name, size in sizes.items() if size is not None},
        )
    except CacheExistsError:
        if not Path(job.root, source.name, "manifest.json").is_file():
            raise
        report("done", status="reused", resumed=0, restarted=None, samples=len(source))
        return
    report("open", resumed=writer.resumed_from)
    known = writer.resumed_from
    with writer:
        step = 1 if job.way == "append" else BATCH
        for first in range(writer.count, len(source), step):
            samples = [source[i] for i in range(first, min(first + step, len(source)))]
            if job.way == "append":
                writer.append(samples[0])
            else:
                writer.append_batch({name: _column(name, source, samples) for name in samples[0]})
            if (durable := writer.durable_count) > known:
                known = durable
                report("durable", count=known)
    report(
        "done", status="built", resumed=writer.resumed_from, restarted=writer.restarted, samples=writer.count
    )
