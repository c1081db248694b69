"""Random batches from a warm page cache: the gather, and the loop of a loader."""

import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

from benchmarks import table
from benchmarks.peer import Reader, load
from benchmarks.peers import FIRST, PEERS
from benchmarks.suite import Found, Job, Results
from benchmarks.workload import Packed, Workload
from benchmarks.workloads import READ

CASES = READ
MOST_ROUNDS = 100
CHECKED_BATCHES = 4
WARMING_BATCHES = 16

_WORK = {"gather": "gather, {batch} random samples", "loader": "loader, batches of {batch}, shuffled"}


def _workload(case: str, smoke: bool) -> Workload:
    return CASES[case].shrunk() if smoke else CASES[case]


def prepare(job: Job) -> None:
    """Store the workload."""
    workload = _workload(job.case, job.smoke)
    load(job.peer).write_samples(workload, workload.all(), job.folder)


def measure(job: Job) -> Found:
    """Samples per second of gather and of the loader, after both delivered the right values.

    Raises:
        ValueError: A batch does not hold what was written, or not what was asked for.
    """
    workload = _workload(job.case, job.smoke)
    reader = load(job.peer).opened(workload, job.folder)
    asked = np.random.default_rng(2).integers(0, workload.samples, (64, workload.batch), np.int64)
    batches = reader.batches(workload.batch)
    _check(reader, workload, asked, batches)
    _warm(reader, workload)
    turns = 0

    def gather() -> object:
        nonlocal turns
        turns += 1
        return reader.gather(asked[turns % len(asked)])

    found: Found = {"gather": _rate(gather, reader, workload.batch, job.seconds)}
    for _ in range(WARMING_BATCHES):
        next(batches)
    found["loader"] = _rate(lambda: next(batches), reader, workload.batch, job.seconds)
    return found


def _check(reader: Reader, workload: Workload, asked: np.ndarray, batches: Iterator[object]) -> None:
    for numbers in asked[:CHECKED_BATCHES]:
        if workload.check(reader.numpy(reader.gather(numbers))) != numbers.tolist():
            raise ValueError(f"{workload.name}: gather gave other samples than asked for")
    for _ in range(CHECKED_BATCHES):
        if len(workload.check(reader.numpy(next(batches)))) != workload.batch:
            raise ValueError(f"{workload.name}: the loader gave a batch of another size than asked for")


def _warm(reader: Reader, workload: Workload) -> None:
    # Everything once: pages are in memory and mapped, lazily opened files are open.
    everything = np.arange(workload.samples, dtype=np.int64)
    for first in range(0, workload.samples, workload.batch):
        reader.gather(everything[first : first + workload.batch])


def _rate(step: Callable[[], object], reader: Reader, batch_size: int, seconds: float) -> float:
    count = 0
    began = time.perf_counter()
    while True:
        batch = reader.numpy(step())
        values = batch.values if isinstance(batch, Packed) else batch
        values.reshape(-1)[-1].item()  # the batch is there, not merely promised
        count += batch_size
        passed = time.perf_counter() - began
        if passed >= seconds:
            return count / passed


def report(results: Results, smoke: bool) -> list[str]:
    """A table a workload."""
    lines = [
        "## Reading",
        "",
        "Every system delivered the right bytes before it was timed. *x DSRT* is a system's median divided",
        "by DSRT's: above 1 it is faster.",
    ]
    for case, figures in results.items():
        lines += ["", *_section(_workload(case, smoke), figures)]
    return lines


def _section(workload: Workload, figures: dict[str, dict[str, list[float] | str]]) -> list[str]:
    each = workload.bytes / workload.samples
    lines = [f"### {workload.heading}", ""]
    lines += table.head("work", "system", "samples/s", "MiB/s", "spread", "x DSRT")
    for work, systems in figures.items():
        for peer in (peer for peer in PEERS if peer in systems):
            title = _WORK[work].format(batch=workload.batch) if peer == FIRST else ""
            rates = systems[peer]
            if isinstance(rates, str):
                lines.append(table.row([title, table.system(peer), rates, "", "", ""]))
                continue
            middle = median(rates)
            cells = [f"{middle:,.0f}", f"{middle * each / 2**20:,.0f}", table.spread(rates)]
            cells.append(table.ratio(rates, systems.get(FIRST)))
            lines.append(table.row([title, table.system(peer), *cells]))
    return lines
