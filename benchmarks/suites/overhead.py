"""What DSRT's loader costs beyond the data: a batch of one small sample, its state, a seek, allocations."""

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import table
from benchmarks.compiled import NoCompiler, compiled
from benchmarks.peers import FIRST
from benchmarks.store import Store, sized
from benchmarks.suite import Found, Job, Results, Tried
from benchmarks.workloads import WORKLOADS

PEERS = (FIRST,)
STORES = True
_COUNTS = ("tokens", "tokens-zstd", "images")
CASES = {"batch-1": WORKLOADS["tiny"], **{name: WORKLOADS[name] for name in _COUNTS}}
QUICK = ("batch-1", "tokens", "tokens-zstd")
FEW: tuple[str, ...] = ()
SMOKE = ("batch-1",)
MOST_ROUNDS = 25

ROWS = 10**9
_SOURCE = Path(__file__).parents[1] / "allocations.c"
_TIMED = 20_000
_COUNTED, _COUNTED_BYTES = 10_000, 32 << 30
"""Batches in which allocations are counted, and as many before: of large ones, those of so many bytes."""

_ROWS = {
    "batch": "a batch of one sample of 64 bytes, from the loader, us",
    "state_dict": "`state_dict`, us",
    "step": f"256 permuted rows of {ROWS:,} after those before, us",
    "seek": "the same, anywhere, us",
}
_ALLOCATIONS = "allocations and maps of 4 KiB or more a batch of 256, in steady state"


def prepare(job: Job) -> Tried:
    """Store and check."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()
    store.check_gather(store.open({}))
    return {}


def measure(job: Job) -> Found:
    """A count, and of tiny samples the seconds of each."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    cache = store.place({}) / "samples"
    batches = min(_COUNTED, _COUNTED_BYTES * store.workload.samples // (256 * store.workload.bytes))
    found: Found = {"allocations": _counted(cache, batches)}
    if job.case == "batch-1":
        found |= _timed(cache, 100 if job.smoke else _TIMED)
    return found


def _timed(cache: Path, count: int) -> Found:
    from dsrt_native import Cache, Loader, Population
    from dsrt_native.order import Sampler

    population = Population([Cache.open(cache)])
    with Loader(population, 1, order="permuted", fields=["x"]) as loader:
        steps = loader.steps()
        _each(lambda: next(steps), count)
        found: Found = {
            "batch": _each(lambda: next(steps), count),
            "state_dict": _each(loader.state_dict, count),
        }
    anywhere = iter(np.random.default_rng(5).integers(0, ROWS, count).tolist())
    ahead = iter(range(0, 256 * count, 256))
    sampler = Sampler("permuted", ROWS, 3)
    found["step"] = _each(lambda: sampler.rows(next(ahead), 256), count)
    found["seek"] = _each(lambda: sampler.rows(next(anywhere), 256), count)
    return found


def _each(work: Callable[[], object], count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - began) / count


def _counted(cache: Path, batches: int) -> float | str:
    """In a process that counts them."""
    try:
        counter = str(compiled(_SOURCE))
    except NoCompiler as reason:
        return str(reason)
    work = "import sys; from benchmarks.suites.overhead import count; count(*sys.argv[1:])"
    command = [sys.executable, "-c", work, counter, str(cache), str(batches)]
    done = subprocess.run(
        command, env={**os.environ, "LD_PRELOAD": counter}, stdout=subprocess.PIPE, check=True
    )
    found: float = json.loads(done.stdout)
    return found


def count(counter: str, cache: str, batches: str) -> None:
    """Print how many there are a batch, after as many batches that warm. The work of that process."""
    from dsrt_native import Cache, Loader, Population

    asked = ctypes.CDLL(counter).large_allocations
    with Loader(Population([Cache.open(cache)]), 256, order="uniform", fields=["x"]) as loader:
        steps = loader.steps()
        for _ in range(int(batches)):
            next(steps)
        before = asked()
        for _ in range(int(batches)):
            next(steps)
        print((asked() - before) / int(batches))


def report(results: Results, smoke: bool) -> list[str]:
    """A table."""
    lines = ["## Overhead", "", *table.head("of DSRT", "", words=1)]
    for case, figures in results.items():
        if case == "batch-1":
            lines += [
                table.row([title, table.middle(figures, work, FIRST, 1e6)]) for work, title in _ROWS.items()
            ]
        workload = sized(CASES, case, smoke)
        title = f"{_ALLOCATIONS}: {workload.title}, {workload.codec}"
        lines.append(table.row([title, table.middle(figures, "allocations", FIRST)]))
    return lines
