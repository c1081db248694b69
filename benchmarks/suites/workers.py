"""Every loader with more and more workers: threads or processes, and by which method they are started."""

import time
from contextlib import closing
from dataclasses import replace

from benchmarks import process, process_tree, sweep, table, timing
from benchmarks.peers import SYSTEMS
from benchmarks.store import Store, sized
from benchmarks.suite import Figures, Found, Job, Results, Setting, Tried
from benchmarks.workloads import WORKLOADS

CASES = {"photographs": WORKLOADS["photographs"]}
QUICK = ("photographs",)
FEW: tuple[str, ...] = ()
SMOKE = ("photographs",)
PEERS = SYSTEMS
STORES = True
MOST_ROUNDS = 3

SHARE = 0.5  # of the time of a turn, for each number of workers

_ONE = "one"  # as the work of a job's setting: measure this alone


def _settings(store: Store, smoke: bool) -> list[Setting]:
    # The loop's settings, but these are not swept for the fastest: each is shown.
    configs = list(store.peer.SWEEP.get("workers", [{}]))
    return [{"loop": dict(config)} for config in (configs[:1] + configs[-1:] if smoke else configs)]


def prepare(job: Job) -> Tried:
    """Store, and compare what each loader delivers with the truth."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()
    for setting in _settings(store, job.smoke):
        batches = store.loop(store.open(setting), setting)
        with closing(batches):
            store.check_loop(batches)
    return {}


def measure(job: Job) -> Found:
    """Samples a second, the seconds until the first batch, and MiB, by setting: each in one more process."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    if _ONE in job.settings:
        return _figures(job, store, job.setting(_ONE))
    found: Found = {}
    for setting in _settings(store, job.smoke):
        found |= process.again("workers", replace(job, settings={_ONE: setting}))
    return found


def _figures(job: Job, store: Store, setting: Setting) -> Found:
    told = sweep.told(setting)
    handle = store.open(setting)
    before, began = process_tree.private(), time.perf_counter()
    with closing(store.loop(handle, setting)) as batches:
        step = batches.__next__
        step()
        first = time.perf_counter() - began
        timing.settle(step, job.seconds * SHARE / 2)
        times = timing.seconds_each(step, job.seconds * SHARE)
        memory = process_tree.private() - before
    return {
        told: timing.rate(times, store.workload.batch),
        f"{told}, first": first,
        f"{told}, memory": memory,
    }


def report(results: Results, smoke: bool) -> list[str]:
    """A table a workload."""
    lines = [
        "## Workers",
        "",
        "Loaders as in *Reading*, by the number and kind of their workers, each in a process of its own.",
        "*First* is the time from nothing to the first batch, in which processes are started. *Added memory*",
        "is what the loader adds to the own memory of the process and its children.",
    ]
    for case, figures in results.items():
        lines += ["", f"### {sized(CASES, case, smoke).heading}", "", *_section(figures)]
    return lines


def _section(figures: Figures) -> list[str]:
    lines = table.head("system", "workers", "samples/s", "spread", "first, s", "added memory, MiB")
    present = {peer for systems in figures.values() for peer in systems}
    for peer in table.systems(present):
        shown = table.name(peer)
        for work, systems in figures.items():
            rates = systems.get(peer)
            if rates is None or work.endswith((", first", ", memory")):
                continue
            if isinstance(rates, str):
                lines.append(table.row([shown, rates, "", "", "", ""]))
                break
            cells = [shown, work, table.count(rates), table.spread(rates)]
            cells += [table.middle(figures, f"{work}, {which}", peer) for which in ("first", "memory")]
            lines.append(table.row(cells))
            shown = ""
    return lines
