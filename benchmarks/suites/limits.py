"""The machine's limits on one thread and on all: copies, libzstd, and a read of the whole file."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, cycle, islice
from pathlib import Path

import numpy as np

from benchmarks import limits, table
from benchmarks.peer import Cannot, Numbers
from benchmarks.peers import MACHINE, machine
from benchmarks.store import sized, uniform
from benchmarks.suite import Figures, Found, Job, Results, Tried
from benchmarks.workload import Workload
from benchmarks.workloads import KINDS

PEERS = (MACHINE,)
STORES = False
CASES = KINDS
QUICK = ("images",)
FEW: tuple[str, ...] = ()
SMOKE = ("tokens-zstd",)
MOST_ROUNDS = 100
PIECE = 1 << 20

_COPIES = {"bypass": "copy by stores that bypass the caches", "memcpy": "copy by memcpy"}
_READ = "read of the file, in order"


def prepare(job: Job) -> Tried:
    """Store the workload, and compare what each way delivers with the truth.

    Raises:
        ValueError: What is delivered is not what was stored.
    """
    workload = sized(CASES, job.case, job.smoke)
    machine.write(workload, workload.all(), job.folder)
    numbers = next(uniform(workload, 1))[0]
    for handle in _handles(workload, job.folder).values():
        if workload.check(machine.gather(handle, numbers)) != numbers.tolist():
            raise ValueError(f"{workload.name}: other samples than asked for")
    return {}


def _handles(workload: Workload, folder: Path) -> dict[str, machine.Handle]:
    handles = {}
    for way in (*machine.COPIES, *limits.LIBZSTD):
        try:
            handle = machine.open(workload, folder, way=way)
        except Cannot:
            continue
        handle.touch()
        handles[_COPIES.get(way) or f"{way}, {limits.version(way)}"] = handle
    return handles


def _asked(workload: Workload, seed: int) -> list[Numbers]:
    # As many as there are samples, at least, before the clock runs: asked for again, none is in a cache.
    drawn = uniform(workload, seed)
    count = -(-workload.samples // workload.batch)
    return list(islice(chain.from_iterable(drawn), max(count, 1)))


def measure(job: Job) -> Found:
    """MiB/s by work and threads: of payload, and for the read of the file."""
    workload = sized(CASES, job.case, job.smoke)
    found: Found = {}
    for threads in dict.fromkeys([1, len(os.sched_getaffinity(0))]):
        for work, handle in _handles(workload, job.folder).items():
            steps = [_filling(handle, _asked(workload, seed)) for seed in range(threads)]
            found[f"{work}; {threads}"] = _rate(steps, job.seconds)
        reads = [_reading(job.folder / "records") for _ in range(threads)]
        found[f"{_READ}; {threads}"] = _rate(reads, job.seconds)
    return found


def _filling(handle: machine.Handle, asked: Sequence[Numbers]) -> Callable[[], int]:
    desk, batches = machine.Desk(handle, len(asked[0])), cycle(asked)
    item = np.dtype(handle.workload.dtype).itemsize
    return lambda: int(desk.fill(next(batches)).pages.ends[-1]) * item


def _reading(path: Path) -> Callable[[], int]:
    file, piece = path.open("rb", buffering=0), bytearray(PIECE)

    def read() -> int:
        if not (size := file.readinto(piece)):
            file.seek(0)
        return size or 0

    return read


def _rate(steps: Sequence[Callable[[], int]], seconds: float) -> float:
    """MiB/s of all steps together, each again and again in a thread of its own."""

    def run(step: Callable[[], int]) -> float:
        done = 0
        began = now = time.perf_counter()
        while now < began + seconds:
            done += step()
            now = time.perf_counter()
        return done / (now - began) / 2**20

    with ThreadPoolExecutor(len(steps)) as threads:
        list(threads.map(lambda step: step(), steps))  # buffers and caches are warm
        return sum(threads.map(run, steps))


def report(results: Results, smoke: bool) -> list[str]:
    """A table a workload."""
    lines = [
        "## The machine",
        "",
        "C and each libzstd that is there, into buffers that are used again, random batches out of a file in",
        "the page cache; a thread has batches and a buffer of its own. MiB/s is what arrives there; nothing",
        "is checked.",
    ]
    for case, figures in results.items():
        lines += ["", f"### {sized(CASES, case, smoke).heading}", "", *_section(figures)]
    return lines


def _section(figures: Figures) -> list[str]:
    lines = table.head("work", "threads", "MiB/s", "spread", words=1)
    for work, systems in figures.items():
        title, threads = work.split("; ")
        rates = systems[MACHINE]
        cells = (rates, "") if isinstance(rates, str) else (table.count(rates), table.spread(rates))
        lines.append(table.row([title, threads, *cells]))
    return lines
