"""Opening, and the cost of a sample, by the number of samples: neither should depend on it."""

import time
from dataclasses import replace
from statistics import median

import numpy as np

from benchmarks import reading, table, timing
from benchmarks.peers import ALL
from benchmarks.store import Store
from benchmarks.suite import Figures, Found, Job, Results, Tried, attempted
from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS

CASES = {f"1e{power}-samples": replace(WORKLOADS["tiny"], samples=10**power) for power in (4, 6, 7)}
QUICK: tuple[str, ...] = ()
FEW = ("1e6-samples",)
SMOKE = ("1e4-samples",)
PEERS = ALL
STORES = True
MOST_ROUNDS = 25

_SMOKE_SHARE = 100
_BATCH = WORKLOADS["tiny"].batch
_WORK = {"open": "opening and one sample, ms", "gather": "gather, us a sample", "loop": "loader, us a sample"}


def _workload(case: str, smoke: bool) -> Workload:
    workload = CASES[case]
    return replace(workload.shrunk(), samples=workload.samples // _SMOKE_SHARE) if smoke else workload


def prepare(job: Job) -> Tried:
    """Store, check, and try the settings."""
    return reading.prepare(job, _workload(job.case, job.smoke))


def measure(job: Job) -> Found:
    """Seconds of opening, with its first sample, and samples a second."""
    workload = _workload(job.case, job.smoke)
    store = Store.of(job, workload)

    def opening() -> Found:
        last = np.array([workload.samples - 1])
        began = time.perf_counter()
        timing.touch(store.peer.gather(store.open(job.setting("gather")), last))
        return {"open": time.perf_counter() - began}

    return attempted("open", opening) | reading.measure(job, workload)


def report(results: Results, smoke: bool) -> list[str]:
    """A table for each figure: systems by numbers of samples."""
    lines = [
        "## By the number of samples",
        "",
        "Records of 64 bytes in random batches of 256, as under *Reading*. *x DSRT* and *x machine* are the",
        "time of DSRT, and of the machine's own copies, by a system's: above 1 it is faster. In brackets the",
        "median and the 95th percentile, of a batch's time by its samples; of an opening the slowest turn.",
    ]
    if smoke:
        lines.append(f"(Here a {_SMOKE_SHARE}th of the samples.)")
    for work, title in _WORK.items():
        columns = [column for case in results for column in (case.replace("-", " "), *table.RATIOS)]
        lines += ["", *table.head(title, *columns, words=1)]
        systems = [figures.get(work, {}) for figures in results.values()]
        for peer in table.systems({peer for each in systems for peer in each}):
            cells = [cell for case in results for cell in _cells(results[case], work, peer)]
            lines.append(table.row([table.name(peer), *cells]))
    return lines


def _cells(figures: Figures, work: str, peer: str) -> list[str]:
    systems = figures.get(work, {})
    found = systems.get(peer, "not measured")
    if isinstance(found, str):
        return [found, *("" for _ in table.RATIOS)]
    if work == "open":
        shown = f"{table.digits(median(found) * 1e3)} ({table.digits(max(found) * 1e3)})"
        ratios = [table.less(systems, peer, than) for than in table.RATIOS.values()]
    else:
        times = table.times(figures, work, scale=1e6 / _BATCH).values()
        shown = f"{table.digits(1e6 / median(found))} ({', '.join(cell(peer) for cell in times)})"
        ratios = table.ratios(systems, peer)
    return [f"{table.mark(found)}{shown}", *ratios]
