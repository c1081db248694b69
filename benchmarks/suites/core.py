"""Gathers on one core: elsewhere a large gather of DSRT, and any of loaderx, is on several threads."""

import os

from benchmarks import peers, reading, sweep, table
from benchmarks.store import Store, sized
from benchmarks.suite import Figures, Found, Job, Results, Setting, Tried
from benchmarks.workloads import KINDS

PEERS = peers.QUICK
STORES = True
CASES = KINDS
QUICK = ("images", "records", "tokens")
FEW: tuple[str, ...] = ()
SMOKE = ("tokens-zstd",)
MOST_ROUNDS = 25


def _keep_to_one() -> None:
    """Before anything is opened: that decides how many threads there are."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def prepare(job: Job) -> Tried:
    """Store, check, and try the settings, on one core."""
    _keep_to_one()
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()

    def rate(setting: Setting, seconds: float) -> float:
        store.check_gather(store.open(setting))
        return float(reading.warm_gather(store, setting, seconds)["gather"])

    return {"gather": sweep.tried(sweep.settings(store.peer, "layout", "open"), rate, sweep.trial(job))}


def measure(job: Job) -> Found:
    """Samples a second and the times of a batch, on one core."""
    _keep_to_one()
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    return reading.warm_gather(store, job.setting("gather"), job.seconds)


def report(results: Results, smoke: bool) -> list[str]:
    """A table a workload."""
    lines = [
        "## Reading on one core",
        "",
        "The gathers of *Reading*, each in a process that the kernel keeps to one core from its start,",
        "whatever threads a system starts. DSRT verifies every record's checksum, the machine none.",
    ]
    for case, figures in results.items():
        lines += ["", f"### {sized(CASES, case, smoke).heading}", "", *_section(figures)]
    return lines


def _section(figures: Figures) -> list[str]:
    return table.rates(figures, "gather", table.times(figures, "gather"))
