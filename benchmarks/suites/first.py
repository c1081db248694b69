"""How soon a loader gives its first batch: a fresh one, and the next one of the same process."""

import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from statistics import fmean

from benchmarks import process, sweep, table, timing
from benchmarks.peers import ALL
from benchmarks.store import Store, sized
from benchmarks.suite import Found, Job, Results, Setting, Tried
from benchmarks.workloads import READ

CASES = {name: READ[name] for name in ("images", "records", "tokens")}
QUICK = ("records",)
FEW = ("images", "records")
SMOKE = ("records",)
PEERS = ALL
STORES = True
MOST_ROUNDS = 25

_WORKS = {"open": "opening, ms", "first": "first, ms", "second": "next loader, ms", "batch": "a batch, ms"}

_ONE = "one"  # as the work of a job's settings: a trial, of the first batch alone


def prepare(job: Job) -> Tried:
    """Store, check, and try the settings, each in processes as those of the turns."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()

    checked: list[Setting] = []

    def rate(setting: Setting, processes: float) -> float:
        if setting not in checked:
            with closing(store.loop(store.open(setting), setting)) as batches:
                store.check_loop(batches)
            checked.append(setting)
        alone = replace(job, settings={_ONE: setting})
        return 1 / fmean(float(process.again("first", alone)["first"]) for _ in range(int(processes)))

    # In a process each; the best two, if they are close, in two more.
    return {"first": sweep.tried_by_steps(store.ways(), sweep.settings(store.peer, "loop"), rate, 1)}


def measure(job: Job) -> Found:
    """Seconds from an opened store to a batch, and of opening, and of a batch later on."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    if _ONE in job.settings:
        setting = job.setting(_ONE)
        return {"first": _seconds(store, store.open(setting), setting, 0)[0]}
    setting = job.setting("first")
    began = time.perf_counter()
    handle = store.open(setting)
    opened = time.perf_counter() - began
    first, later = _seconds(store, handle, setting, job.seconds)
    second, _ = _seconds(store, handle, setting, 0)
    return {"open": opened, "first": first, "second": second, "batch": later}


def _seconds(store: Store, handle: object, setting: Setting, more: float) -> tuple[float, float]:
    """Of the first batch, and on average of those that follow for some time once the loader has settled."""
    began = time.perf_counter()
    with closing(store.loop(handle, setting)) as batches:
        step = partial(next, batches)
        timing.touch(step())
        first = time.perf_counter() - began
        timing.settle(step, more / 2)
        return first, fmean(timing.seconds_each(step, more))


def report(results: Results, smoke: bool) -> list[str]:
    """A table of all."""
    columns = [column for title in _WORKS.values() for column in (title, "x DSRT")]
    lines = [
        "## The first batch",
        "",
        "From an opened store to the first batch of its loader, with the construction of the loader and the",
        "start of its threads or processes: a fresh one in a fresh process, and the next one of the same",
        "process. In brackets the same in batches, whose time is the mean once the loader has settled: it",
        "has none then that were queued before; and the slowest turn. Settings are tried in fresh processes,",
        "too. *x DSRT* is DSRT's time by a system's: above 1 it is faster. The row `machine` is plain C in",
        "threads.",
        "",
        *table.head("case", "system", *columns),
    ]
    for case, figures in results.items():
        for peer in table.systems(figures.get("first", {})):
            cells = []
            for work in _WORKS:
                shown = table.middle(figures, work, peer, 1e3)
                found = figures[work].get(peer, "")
                batches = table.ratio(found, figures["batch"].get(peer))
                if work in ("first", "second") and batches and not isinstance(found, str):
                    shown += f" ({batches}; {table.digits(max(found) * 1e3)})"
                cells += [shown, table.less(figures[work], peer)]
            lines.append(table.row([sized(CASES, case, smoke).title, table.name(peer), *cells]))
    return lines
