"""Every loader with more and more workers: threads or processes, and by which method they are started."""

import time
from contextlib import closing
from dataclasses import replace
from statistics import median

from benchmarks import process, process_tree, sweep, table, timing
from benchmarks.peer import Cannot
from benchmarks.peers import ALL
from benchmarks.store import Store, sized
from benchmarks.suite import Figures, Found, Job, Results, Setting, Tried
from benchmarks.workloads import WORKLOADS

CASES = {"photographs": WORKLOADS["photographs"]}
QUICK = ("photographs",)
FEW: tuple[str, ...] = ()
SMOKE = ("photographs",)
PEERS = ALL
STORES = True
MOST_ROUNDS = 3

SHARE = 0.5  # of the time of a turn, for each number of workers

# As the works of a job's settings: the fastest of all, and the one that is measured alone.
_FASTEST, _ONE = "fastest", "one"

_BESIDE = ", first", ", memory", " median", " p95"
"""End the names of figures that are no rates."""


def _loops(store: Store) -> list[Setting]:
    # The loop's settings, of which not the fastest alone is shown but each.
    return [{"loop": setting["workers"]} for setting in sweep.settings(store.peer, "workers")]


def _told(setting: Setting) -> str:
    return sweep.told({"loop": setting["loop"]})


def prepare(job: Job) -> Tried:
    """Store, compare what each loader delivers with the truth, and find the layout that suits the fastest."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()

    def rate(setting: Setting, seconds: float) -> float:
        with closing(store.loop(store.open(setting), setting)) as batches:
            store.check_loop(batches)
            timing.settle(batches.__next__, seconds)
            return timing.rate(timing.seconds_each(batches.__next__, seconds), store.workload.batch)

    return {_FASTEST: sweep.tried_by_steps(store.ways(), _loops(store), rate, sweep.trial(job))}


def measure(job: Job) -> Found:
    """Rate, times of a batch, seconds until the first, and MiB, by setting: each in one more process."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    if _ONE in job.settings:
        return _figures(job, store, job.setting(_ONE))
    found: Found = {}
    for loop in _loops(store):
        # In the layout and opened as the fastest is.
        alone = replace(job, settings={_ONE: job.setting(_FASTEST) | loop})
        try:
            found |= process.again("workers", alone)
        except Cannot as reason:
            found[_told(loop)] = str(reason)
        except process.ProcessError as error:
            found[_told(loop)] = f"{sweep.FAILED}{error}"
    return found


def _figures(job: Job, store: Store, setting: Setting) -> Found:
    told = _told(setting)
    handle = store.open(setting)
    before, began = process_tree.private(), time.perf_counter()
    with closing(store.loop(handle, setting)) as batches:
        step = batches.__next__
        step()
        first = time.perf_counter() - began
        timing.settle(step, job.seconds * SHARE / 2)
        times = timing.seconds_each(step, job.seconds * SHARE)
        memory = process_tree.private() - before
        # Only now: it would have started what `first` and the memory are about.
        store.check_loop(batches)
    return {
        **timing.figures(told, times, store.workload.batch),
        f"{told}, first": first,
        f"{told}, memory": memory,
    }


def report(results: Results, smoke: bool) -> list[str]:
    """A table a workload."""
    lines = [
        "## Workers",
        "",
        "Loaders as in *Reading*, by the number and kind of their workers, each in a process of its own.",
        "All of a system read the layout, and have it opened as it is best for the fastest of them. *First*",
        "is the time from an opened store to the first batch, in which threads and processes are started.",
        "*Added memory* is what the loader adds to the own memory of the process and its children. *x DSRT*",
        "and *x machine* are a rate by that of the fastest setting here of DSRT, and of plain C that copies",
        "in threads into buffers used again: above 1 it is faster. *Median* and *p95* are of the time from",
        "one batch to the next.",
    ]
    for case, figures in results.items():
        lines += ["", f"### {sized(CASES, case, smoke).heading}", "", *_section(figures)]
    return lines


def _section(figures: Figures) -> list[str]:
    columns = "samples/s", "spread", *table.RATIOS, "median, ms", "p95, ms", "first, s", "added memory, MiB"
    lines = table.head("system", "workers", *columns)
    fastest = [_fastest(figures, peer) for peer in table.RATIOS.values()]
    present = {peer for systems in figures.values() for peer in systems}
    for peer in table.systems(present):
        found = _rates(figures, peer)
        # One that has no figure at all may have its reason in everyone's settings.
        reasons = {rates for rates in found.values() if isinstance(rates, str)}
        if len(reasons) == 1 and all(isinstance(rates, str) for rates in found.values()):
            lines.append(table.row([table.name(peer), *reasons, *[""] * len(columns)]))
            continue
        shown = table.name(peer)
        for work, rates in found.items():
            cells = [shown, work]
            if isinstance(rates, str):
                cells += [rates, *[""] * (len(columns) - 1)]
            else:
                cells += [table.count(rates), table.spread(rates)]
                cells += [table.ratio(rates, other) for other in fastest]
                cells += [cell(peer) for cell in table.times(figures, work).values()]
                cells += [table.middle(figures, f"{work}, {which}", peer) for which in ("first", "memory")]
            lines.append(table.row(cells))
            shown = ""
    return lines


def _fastest(figures: Figures, peer: str) -> list[float]:
    rates = [rates for rates in _rates(figures, peer).values() if not isinstance(rates, str)]
    return max(rates, key=median, default=[])


def _rates(figures: Figures, peer: str) -> dict[str, list[float] | str]:
    """By setting, what there is of a system."""
    return {
        work: systems[peer]
        for work, systems in figures.items()
        if peer in systems and not work.endswith(_BESIDE)
    }
