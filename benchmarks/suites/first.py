"""How soon a loader gives its first batch: a fresh one, and the next one of the same process."""

import time
from contextlib import closing
from functools import partial
from statistics import fmean

from benchmarks import sweep, table, timing
from benchmarks.peers import SYSTEMS
from benchmarks.store import Store, sized
from benchmarks.suite import Found, Job, Results, Setting, Tried
from benchmarks.workloads import READ

CASES = {name: READ[name] for name in ("images", "records", "tokens")}
QUICK = ("records",)
FEW = ("images", "records")
SMOKE = ("records",)
PEERS = SYSTEMS
STORES = True
MOST_ROUNDS = 25


def prepare(job: Job) -> Tried:
    """Store, check, and try the settings."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()

    def rate(setting: Setting, _: float) -> float:
        handle = store.open(setting)
        with closing(store.loop(handle, setting)) as batches:
            store.check_loop(batches)
        return 1 / _seconds(store, handle, setting, 0)[0]

    return {"first": sweep.tried(sweep.settings(store.peer, "open", "loop"), rate)}


def measure(job: Job) -> Found:
    """Seconds from an opened store to a batch, and of opening, and of a batch later on."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    setting = job.setting("first")
    began = time.perf_counter()
    handle = store.open(setting)
    opened = time.perf_counter() - began
    first, later = _seconds(store, handle, setting, job.seconds)
    second, _ = _seconds(store, handle, setting, 0)
    return {"open": opened, "first": first, "second": second, "batch": later}


def _seconds(store: Store, handle: object, setting: Setting, more: float) -> tuple[float, float]:
    """Of the first batch, and on average of those that follow for some time."""
    began = time.perf_counter()
    with closing(store.loop(handle, setting)) as batches:
        step = partial(next, batches)
        timing.touch(step())
        first = time.perf_counter() - began
        return first, fmean(timing.seconds_each(step, more))


def report(results: Results, smoke: bool) -> list[str]:
    """A table of all."""
    lines = [
        "## The first batch",
        "",
        "From an opened store to the first batch of its loader, with the construction of the loader and the",
        "start of its threads or processes: a fresh one in a fresh process, and the next one of the same",
        "process. In brackets the same in batches, whose time is the mean of those that follow.",
        "",
        *table.head("case", "system", "opening, ms", "first, ms", "next loader, ms", "a batch, ms"),
    ]
    for case, figures in results.items():
        for peer in table.systems(figures.get("first", {})):
            cells = [table.middle(figures, work, peer, 1e3) for work in ("open", "first", "second", "batch")]
            for place, work in ((1, "first"), (2, "second")):
                if times := table.ratio(figures[work][peer], figures["batch"].get(peer)):
                    cells[place] += f" ({times})"
            lines.append(table.row([sized(CASES, case, smoke).title, table.name(peer), *cells]))
    return lines
