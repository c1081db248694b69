"""Random batches from a warm page cache: the gather, and the loop of a loader with its memory."""

import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle
from statistics import median
from typing import Any

import numpy as np

from benchmarks import process_tree, sweep, table, timing
from benchmarks.peer import Cannot
from benchmarks.peers import FIRST, MACHINE
from benchmarks.store import Store, sized
from benchmarks.suite import Figures, Found, Job, Results, Setting, Tried
from benchmarks.workload import Batch, Workload
from benchmarks.workloads import READ

CASES = READ
QUICK = tuple(READ)
MOST_ROUNDS = 100

SHARE = 0.25  # of the time of a turn, for a setting of the sweep
WARMING = 3.0  # seconds, at most
WATCHED = 0.3

_WORK = {"gather": "gather, {batch} random samples", "loop": "loader, batches of {batch}, shuffled"}


def prepare(job: Job) -> Tried:
    """Store, and try the settings; what each delivers is compared with the truth before it is timed."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()

    def gather(setting: Setting) -> float:
        handle = store.open(setting)
        store.check_gather(handle)
        return timing.rate(_gather(store, handle, job.seconds * SHARE), store.workload.batch)

    def loop(setting: Setting) -> float:
        batches = store.loop(store.open(setting), setting)
        store.check_loop(batches)
        return timing.rate(_loop(batches, job.seconds * SHARE), store.workload.batch)

    gathers = sweep.tried(sweep.settings(store.peer, "layout", "open"), gather)
    layout = {}
    if not isinstance(fastest := sweep.best(gathers), str):
        layout = {"layout": fastest["layout"]}
    choices = [layout | setting for setting in sweep.settings(store.peer, "open", "loop")]
    return {"gather": gathers, "loop": sweep.tried(choices, loop)}


def measure(job: Job) -> Found:
    """Samples a second of either, and MiB of the loader's processes."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    found: Found = {}
    try:
        # The loader first: its memory shall not hold what gather has left.
        found |= _watched_loop(store, job.setting("loop"), job.seconds)
    except Cannot as reason:
        found["loop"] = str(reason)
    try:
        handle = store.open(job.setting("gather"))
        _warm(store, handle, min(job.seconds, WARMING))
        found |= timing.figures("gather", _gather(store, handle, job.seconds), store.workload.batch)
    except Cannot as reason:
        found["gather"] = str(reason)
    return found


def _watched_loop(store: Store, setting: Setting, seconds: float) -> Found:
    before = process_tree.private()
    with process_tree.Watch() as starting:
        batches = store.loop(store.open(setting), setting)
        _loop(batches, seconds / 2)
    times = _loop(batches, seconds)
    with process_tree.Watch() as running:
        _loop(batches, min(seconds, WATCHED))
    with suppress(AttributeError):  # only a generator has it
        batches.close()  # type: ignore[attr-defined]
    steady, peak = median(running.samples), max(starting.samples + running.samples)
    memory: Found = {"loop before": before, "loop steady": steady, "loop peak": peak}
    return timing.figures("loop", times, store.workload.batch) | memory


def _loop(batches: Iterator[Batch], seconds: float) -> list[float]:
    return timing.seconds_each(lambda: next(batches), seconds)


def _gather(store: Store, handle: Any, seconds: float) -> list[float]:
    asked = cycle(store.asked())
    return timing.seconds_each(lambda: store.peer.gather(handle, next(asked)), seconds)


def _warm(store: Store, handle: Any, seconds: float) -> None:
    # Everything once, if there is time: pages are in memory and mapped, lazily opened files are open.
    end = time.perf_counter() + seconds
    for first in range(0, store.workload.samples, store.workload.batch):
        last = min(first + store.workload.batch, store.workload.samples)
        store.peer.gather(handle, np.arange(first, last, dtype=np.int64))
        if time.perf_counter() > end:
            return


def report(results: Results, smoke: bool) -> list[str]:
    """A table a workload."""
    lines = [
        "## Reading",
        "",
        "Every system delivered the right bytes before it was timed. *x DSRT* is a system's median divided",
        "by DSRT's, and *x machine* by the machine's own, which is the row `machine`: above 1 it is faster.",
        "*Median* and *p95* are of the time of a batch. *Own memory* is what the loader's processes hold of",
        "their own (Pss_Anon + Pss_Shmem) with their interpreters and imports, in steady state and at most.",
    ]
    for case, figures in results.items():
        lines += ["", *_section(sized(CASES, case, smoke), figures)]
    return lines


def _section(workload: Workload, figures: Figures) -> list[str]:
    each = workload.bytes / workload.samples / 2**20
    lines = [f"### {workload.heading}", ""]
    columns = (
        "samples/s",
        "MiB/s",
        "median, ms",
        "p95, ms",
        "spread",
        "x DSRT",
        "x machine",
        "own memory, MiB",
    )
    lines += table.head("work", "system", *columns)
    for work, title in _WORK.items():
        systems = figures.get(work, {})
        for peer in table.systems(systems):
            cells = [title.format(batch=workload.batch) if peer == FIRST else "", table.name(peer)]
            rates = systems[peer]
            if isinstance(rates, str):
                lines.append(table.row([*cells, rates, *[""] * 7]))
                continue
            cells += [f"{median(rates):,.0f}", f"{median(rates) * each:,.0f}"]
            cells += [table.middle(figures, f"{work} {which}", peer, 1e3) for which in ("median", "p95")]
            cells += [table.spread(rates), *(table.ratio(rates, systems.get(to)) for to in (FIRST, MACHINE))]
            memory = [table.middle(figures, f"{work} {which}", peer) for which in ("steady", "peak")]
            lines.append(table.row([*cells, ", at most ".join(filter(None, memory))]))
    return lines
