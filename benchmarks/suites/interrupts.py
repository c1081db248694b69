"""How soon a Ctrl-C ends what the engine is in the midst of, whether that waits for threads or not."""

import signal
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from benchmarks import table
from benchmarks.peers import FIRST
from benchmarks.store import Store, sized
from benchmarks.suite import Found, Job, Results, Tried
from benchmarks.workloads import WORKLOADS

PEERS = (FIRST,)
STORES = True
CASES = {"images": WORKLOADS["images"]}
QUICK: tuple[str, ...] = ()
FEW: tuple[str, ...] = ()
SMOKE = ("images",)
MOST_ROUNDS = 5

TRIES = 10
"""Of each in a turn, at times that are spread over the work."""

EARLY, LATE = 0.1, 0.7
"""When, as parts of the time that the work takes undisturbed."""

ROWS, SMOKE_ROWS = 10**8, 10**5
PASSES = 3
"""A gather and a batch have each sample so many times."""

WAITS = {
    "gather": "a gather",
    "loader": "a loader's batch",
    "verify": "a verification",
}
WEIGHTS = "weights"
_WORKS = {**WAITS, WEIGHTS: f"the preparation of weights of {ROWS:,} rows"}


def prepare(job: Job) -> Tried:
    """Store and check."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()
    store.check_gather(store.open({}))
    return {}


def measure(job: Job) -> Found:
    """Seconds from a signal to the exception: the median and the longest of some."""
    found: Found = {}
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    for name, work in _works(store, SMOKE_ROWS if job.smoke else ROWS).items():
        late = _latencies(work, 1 if job.smoke or name == WEIGHTS else TRIES)
        found |= {name: median(late), f"{name}, longest": max(late)}
    return found


def _works(store: Store, rows: int) -> dict[str, Callable[[], object]]:
    # Imported here: the process of any system imports all suites.
    from dsrt_native import Cache, Loader, Population, verify
    from dsrt_native.order import Sampler

    path = store.place({}) / "samples"
    population = Population([Cache.open(path)])
    numbers = np.tile(np.arange(store.workload.samples), PASSES)
    weights = np.random.default_rng(7).random(rows)

    def loader() -> None:
        with Loader(population, len(numbers), order="uniform", fields=["x"], prefetch=1) as batches:
            next(batches.steps())

    return {
        "gather": partial(population.gather, numbers, ["x"]),
        "loader": loader,
        "verify": partial(verify, path),
        WEIGHTS: partial(Sampler, "weighted", rows, 3, weights),
    }


def _latencies(work: Callable[[], object], tries: int) -> list[float]:
    """Seconds between a signal and its exception, which is a Ctrl-C's."""
    work()  # what it finds in memory, it finds there again
    began = time.perf_counter()
    work()
    takes = time.perf_counter() - began
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        return [_latency(work, part * takes) for part in np.linspace(EARLY, LATE, tries).tolist()]
    finally:
        signal.signal(signal.SIGALRM, before)


def _latency(work: Callable[[], object], delay: float) -> float:
    """The same of one signal, so many seconds after the work has begun."""
    due = time.perf_counter() + delay
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        work()
        time.sleep(delay + 1)  # it was faster this time
    except KeyboardInterrupt:
        return time.perf_counter() - due
    raise RuntimeError("the signal did not come")


def report(results: Results, smoke: bool) -> list[str]:
    """A table."""
    lines = [
        "## Ctrl-C",
        "",
        "The time from a signal, in the midst of what DSRT's engine does, to the exception that a Ctrl-C is",
        f"in Python; in each turn {TRIES} signals, at times spread over the work. A gather and a batch have",
        f"{PASSES} times all images. Whoever prepares weights computes and waits for nothing: there the",
        "signal is answered at the end.",
        "",
        *table.head("in the midst of", "median, ms", "longest, ms", words=1),
    ]
    for figures in results.values():
        for work, title in _WORKS.items():
            shown = (table.middle(figures, each, FIRST, 1e3) for each in (work, f"{work}, longest"))
            lines.append(table.row([title, *shown]))
    return lines
