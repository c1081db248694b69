"""The pool of worker processes by itself: how soon it answers, what it holds, how fast a batch comes back.

Beside it, in the same process, what Python brings: multiprocessing's own pool, and the plainest workers with
a `Pipe`. Both pickle a reply into a pipe.
"""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, get_args

import numpy as np

from benchmarks import process, table
from benchmarks.peers import FIRST
from benchmarks.suite import Found, Job, Results, Tried

PEERS = (FIRST,)
STORES = False
CASES = {"37-MB": 37 * 10**6}
QUICK: tuple[str, ...] = ()
FEW: tuple[str, ...] = ()
SMOKE = ("37-MB",)
SMOKE_SHARE = 100
MOST_ROUNDS = 3

WORKERS, AHEAD = 2, 4  # requests under way: two for each worker, as the pool has them
FEWEST = 8  # replies

_START = "start"  # as the work of a job's setting: measure this method of starting alone
_WAYS = ("DSRT's pool", "multiprocessing.Pipe", "multiprocessing.Pool")
_STARTED = {
    "first pool": "first pool, s",
    "second pool": "next pool, s",
    "idle": "private memory of an idle worker, MiB",
}


@cache
def batch(size: int) -> dict[str, Any]:
    """A batch, made once in each worker: what is measured is its way back."""
    data = np.zeros(size, np.uint8)
    data[-1] = 1
    return {"image": data, "label": np.arange(256)}


def private(_: object) -> float:
    """MiB that this process shares with no other."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def _answer(connection: Connection) -> None:
    while True:
        connection.send(batch(connection.recv()))


def prepare(job: Job) -> Tried:
    """Nothing: what arrives is looked at whenever it is measured."""
    return {}


def measure(job: Job) -> Found:
    """MiB/s of replies by way; by method, seconds until a pool answers, and MiB of its workers."""
    if _START in job.settings:
        return _started(job.setting(_START)["pool"]["method"])
    from dsrt_native._pool import StartMethod

    size = CASES[job.case] // (SMOKE_SHARE if job.smoke else 1)
    found: Found = {}
    for way, draw in _ways(size):
        found[way] = _rate(draw, size, job.seconds)
    for method in get_args(StartMethod):
        # In a process of its own, so that none finds a server that is running.
        found |= process.again("replies", replace(job, settings={_START: {"pool": {"method": method}}}))
    return found


def _started(method: Any) -> Found:
    from dsrt_native._pool import Pool

    found: Found = {}
    for which in ("first pool", "second pool"):
        began = time.perf_counter()
        with Pool(private, WORKERS, start_method=method) as pool:
            pool.submit(None)
            pool.take()
            found[f"{which}, {method}"] = time.perf_counter() - began
            found[f"idle, {method}"] = median(pool.map(range(2 * WORKERS)))
    return found


def _ways(size: int) -> Iterator[tuple[str, Iterator[Any]]]:
    """Replies without end by each way; all processes of one are gone before the next begins."""
    from dsrt_native._pool import Pool

    context = multiprocessing.get_context("forkserver")
    with Pool(batch, WORKERS) as pool:
        yield _WAYS[0], iter(pool.map(size for _ in count()))
    with ExitStack() as stack:
        pipes = [stack.enter_context(_worker(context)) for _ in range(WORKERS)]
        yield _WAYS[1], _through(pipes, size)
    with context.Pool(WORKERS) as peer:
        yield _WAYS[2], _ahead(peer, size)
        # Ended in the middle of a reply, a worker would leave a lock taken for which the pool then waits.
        peer.close()
        peer.join()


@contextmanager
def _worker(context: Any) -> Iterator[Connection]:
    here, there = context.Pipe()
    worker = context.Process(target=_answer, args=(there,), daemon=True)
    worker.start()
    try:
        yield here
    finally:
        worker.terminate()
        worker.join()


def _through(pipes: list[Connection], size: int) -> Iterator[Any]:
    for number in range(AHEAD):
        pipes[number % len(pipes)].send(size)
    for number in count():
        pipe = pipes[number % len(pipes)]
        reply = pipe.recv()
        pipe.send(size)
        yield reply


def _ahead(pool: Any, size: int) -> Iterator[Any]:
    # Its `imap` takes all requests at once, and would make replies without end.
    asked = [pool.apply_async(batch, (size,)) for _ in range(AHEAD)]
    while True:
        reply = asked.pop(0).get()
        asked.append(pool.apply_async(batch, (size,)))
        yield reply


def _rate(draw: Iterator[Any], size: int, seconds: float) -> float:
    """MiB/s of replies that are each read once and dropped."""

    def read() -> None:
        # Of zeros but for its end, so this reads all of it.
        if not next(draw)["image"].any():
            raise ValueError("a reply is not what the worker made")

    for _ in range(AHEAD):
        read()
    replies, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds or replies < FEWEST:
        read()
        replies += 1
    return size * replies / passed / 2**20


def report(results: Results, smoke: bool) -> list[str]:
    """Two tables: replies, and starts."""
    lines = [
        "## Replies of worker processes",
        "",
        f"DSRT's pool of {WORKERS} worker processes, which `build` has inside, by itself, beside what Python",
        "brings: a batch of 37 MB from a worker to this process, which reads it once and drops it. Then the",
        "time from nothing to the first reply of the first pool of a program and of the next one, by how",
        "processes are started.",
    ]
    for figures in results.values():
        rates = {work: systems[FIRST] for work, systems in figures.items()}
        lines += ["", *table.head("replies", "MiB/s", "spread", "x DSRT's pool", words=1)]
        for way in _WAYS:
            found = rates.get(way, "")
            cells = (
                ["", ""]
                if isinstance(found, str)
                else [table.spread(found), table.ratio(found, rates[_WAYS[0]])]
            )
            lines.append(table.row([way, table.middle(figures, way, FIRST), *cells]))
        lines += ["", *table.head("start", *_STARTED.values(), words=1)]
        methods = [work.removeprefix("first pool, ") for work in figures if work.startswith("first pool, ")]
        for method in methods:
            shown = [table.middle(figures, f"{which}, {method}", FIRST) for which in _STARTED]
            lines.append(table.row([method, *shown]))
    return lines
