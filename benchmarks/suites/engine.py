"""What parts of DSRT cost, beside itself without them: checksums, and the loader around the gather."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import Any

from benchmarks import table, timing
from benchmarks.peer import Numbers
from benchmarks.peers import FIRST
from benchmarks.store import Store, sized
from benchmarks.suite import Found, Job, Results, Tried
from benchmarks.workload import Batch
from benchmarks.workloads import READ

PEERS = (FIRST,)
STORES = True
CASES = {name: case for name, case in READ.items() if name not in ("photographs", "native", "tokens-list")}
QUICK = ("images",)
FEW: tuple[str, ...] = ()
SMOKE = ("tokens-zstd-dict",)
MOST_ROUNDS = 25
THREADS = 2

STEADY = 5
"""Points of a hundred that the turns' costs of checksums may be apart, without a mark."""

_PIECES = 10  # of the time of a figure, in turns with the one it is compared with
LOADER, GATHERS = f"loader, {THREADS} threads", f"gather, {THREADS} processes"
"""Works: a loader, and as many gathers at once as it has threads, each in a process that shares no GIL."""

_PATIENCE = 60  # seconds, for the other processes to begin

_begin: Any
"""In such a process, the barrier where it meets the others."""


def prepare(job: Job) -> Tried:
    """Store and check."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()
    store.check_gather(store.open({}))
    return {}


def measure(job: Job) -> Found:
    """Samples a second."""
    from dsrt_native import Cache, Loader, Population

    store = Store.of(job, sized(CASES, job.case, job.smoke))
    path = store.place({}) / "samples"
    verified, unverified = (Population([Cache.open(path, verify=each)]) for each in (True, False))
    asked = store.asked()
    works = {"verified": partial(_gathered, verified), "unverified": partial(_gathered, unverified)}
    times: dict[str, list[float]] = {work: [] for work in works}
    for piece in range(_PIECES + 1):
        for work, gather in works.items():
            found = timing.gathers(gather, asked, job.seconds / _PIECES)
            times[work] += found if piece else []  # the first of each warms
    rates: Found = {work: timing.rate(each, store.workload.batch) for work, each in times.items()}
    with Loader(verified, store.workload.batch, order="uniform", fields=["x"], threads=THREADS) as loader:
        steps = map(_viewed, loader.steps())
        timing.settle(steps.__next__, job.seconds / 2)
        rates[LOADER] = timing.rate(timing.seconds_each(steps.__next__, job.seconds), store.workload.batch)
    rates[GATHERS] = _at_once(job)
    return rates


def _gathered(population: Any, numbers: Numbers) -> Batch:
    return _viewed(population.gather(numbers, ["x"]))


def _viewed(batch: dict[str, Any]) -> Batch:
    values: Batch = getattr(batch["x"], "values", batch["x"])
    return values


def _at_once(job: Job) -> float:
    """Samples a second of so many processes together."""
    context = get_context("spawn")
    with ProcessPoolExecutor(THREADS, context, _meet, (context.Barrier(THREADS),)) as processes:
        return sum(processes.map(partial(_alone, job), range(THREADS)))


def _meet(barrier: Any) -> None:
    global _begin
    _begin = barrier


def _alone(job: Job, seed: int) -> float:
    """Samples a second of this process, while the others do the same."""
    from dsrt_native import Cache, Population

    store = Store.of(job, sized(CASES, job.case, job.smoke))
    gather = partial(_gathered, Population([Cache.open(store.place({}) / "samples")]))
    timing.gathers(gather, store.asked(THREADS + seed), job.seconds / 2)
    _begin.wait(_PATIENCE)
    return timing.rate(timing.gathers(gather, store.asked(seed), job.seconds), store.workload.batch)


def checksums(verified: Sequence[float], unverified: Sequence[float]) -> list[float]:
    """What they take of the time of a gather, in percent: by turn, each of which has both rates."""
    return [100 * (1 - checked / bare) for checked, bare in zip(verified, unverified, strict=True)]


def mark(parts: Sequence[float]) -> str:
    """`~` before such percentages that differ too much, or are too few."""
    return "~" * (len(parts) < table.FEWEST or max(parts) - min(parts) > STEADY)


def report(results: Results, smoke: bool) -> list[str]:
    """A table of all."""
    columns = "gather", "unverified", "checksums, %", LOADER, GATHERS, "loader by gather"
    lines = [
        "## Parts of DSRT",
        "",
        "A gather with `verify=False` beside the gather as it is, and a loader beside bare gathers, on",
        f"{THREADS} threads and in {THREADS} processes at once. Samples a second. What checksums take of the",
        "time is a percentage of each turn, which has both gathers in pieces, one after another, and the",
        f"median of these; `~` is before it where they are more than {STEADY} points apart, or fewer than",
        f"{table.FEWEST}. Below 0 it is noise: what checksums take is less than can be told.",
        "",
        *table.head("case", *columns, words=1),
    ]
    for case, figures in results.items():
        found = {work: systems[FIRST] for work, systems in figures.items()}
        rates = {work: each for work, each in found.items() if not isinstance(each, str)}
        if not rates:
            lines.append(table.row([case, str(next(iter(found.values()))), *[""] * 5]))
            continue
        cells = [table.count(rates[work]) for work in ("verified", "unverified", LOADER, GATHERS)]
        parts = checksums(rates["verified"], rates["unverified"])
        cells.insert(2, f"{mark(parts)}{median(parts):.1f}")
        cells.append(table.ratio(rates[LOADER], rates[GATHERS]))
        lines.append(table.row([sized(CASES, case, smoke).heading, *cells]))
    return lines
