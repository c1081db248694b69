"""The gather of random batches and the loop of a loader, from a warm page cache: what several suites time."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from statistics import median
from typing import Any, TypeVar

import numpy as np

from benchmarks import process_tree, sweep, timing
from benchmarks.store import Store
from benchmarks.suite import Found, Job, Setting, Tried, attempted
from benchmarks.workload import Batch, Workload

Timed = TypeVar("Timed")

WARMING = 3.0
"""Seconds of a warm-up, at most."""

MAPPED_AT_ONCE = 64 << 10
"""Bytes that Linux maps around a byte of a mapped file that is touched, if the page cache has them."""

WATCHED = 0.1


def prepare(job: Job, workload: Workload) -> Tried:
    """Store, and try the settings; what each delivers is compared with the truth before it is timed."""
    store = Store.of(job, workload)
    store.write()

    def gather(setting: Setting, seconds: float) -> float:
        handle = store.open(setting)
        store.check_gather(handle)
        _warm(store, handle, seconds)
        return timing.rate(_gather(store, handle, seconds), workload.batch)

    def loop(setting: Setting, seconds: float) -> float:
        with closing(store.loop(store.open(setting), setting)) as batches:
            store.check_loop(batches)
            timing.settle(batches.__next__, seconds)
            return timing.rate(_loop(batches, seconds), workload.batch)

    trial = sweep.trial(job)
    gathers = sweep.tried(sweep.settings(store.peer, "layout", "open"), gather, trial)
    # The loader on what suits gather best, where there is a gather, and its fastest setting on the others.
    rated = [(rate, way) for way, rate in gathers if not isinstance(rate, str)]
    ways = [way for _, way in sorted(rated, key=lambda each: -each[0])] or store.ways()
    loops = sweep.tried_by_steps(ways, sweep.settings(store.peer, "loop"), loop, trial)
    return {"gather": gathers, "loop": loops}


def measure(job: Job, workload: Workload) -> Found:
    """Samples a second and times of a batch, of either, and MiB of the loader's processes."""
    store = Store.of(job, workload)
    # The loader first: its memory shall not hold what gather has left.
    found = attempted("loop", lambda: _watched_loop(store, job.setting("loop"), job.seconds))
    return found | attempted("gather", lambda: warm_gather(store, job.setting("gather"), job.seconds))


def warm_gather(store: Store, setting: Setting, seconds: float) -> Found:
    """Samples a second of gathers for so many seconds, after a warm-up, and the times of a batch."""
    handle = store.open(setting)
    _warm(store, handle, min(seconds / 2, WARMING))
    return timing.figures("gather", _gather(store, handle, seconds), store.workload.batch)


def _watched_loop(store: Store, setting: Setting, seconds: float) -> Found:
    before = process_tree.private()
    times, steady, peak = watched(store, setting, _loop, seconds)
    memory: Found = {"loop before": before, "loop steady": steady, "loop peak": peak}
    return timing.figures("loop", times, store.workload.batch) | memory


def watched(
    store: Store, setting: Setting, timed: Callable[[Iterator[Batch], float], Timed], seconds: float
) -> tuple[Timed, float, float]:
    """What a loader that has settled is timed to for so many seconds, and MiB: then, and at most.

    Memory is looked at while the loader starts, and once more after what was timed.
    """
    with ExitStack() as stack:
        with process_tree.Watch() as starting:
            batches = stack.enter_context(closing(store.loop(store.open(setting), setting)))
            timing.settle(batches.__next__, seconds / 2)
        found = timed(batches, seconds)
        with process_tree.Watch() as running:
            timed(batches, min(seconds, WATCHED))
    return found, median(running.samples), max(starting.samples + running.samples)


def _loop(batches: Iterator[Batch], seconds: float) -> list[float]:
    return timing.seconds_each(lambda: next(batches), seconds)


def _gather(store: Store, handle: Any, seconds: float, seed: int = 2) -> list[float]:
    return timing.gathers(partial(store.peer.gather, handle), store.asked(seed), seconds)


def _warm(store: Store, handle: Any, seconds: float) -> None:
    # A sample of every `MAPPED_AT_ONCE` bytes, if there is time: pages are mapped, lazily opened files open.
    workload, end = store.workload, time.perf_counter() + WARMING
    numbers = np.arange(0, workload.samples, workload.count(MAPPED_AT_ONCE), dtype=np.int64)
    for first in range(0, len(numbers), workload.batch):
        store.peer.gather(handle, numbers[first : first + workload.batch])
        if time.perf_counter() > end:
            break
    _gather(store, handle, seconds, seed=3)
