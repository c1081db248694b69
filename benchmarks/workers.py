"""The worker pool by itself: how soon it answers, what an idle worker holds, how fast a batch comes back.

`python -m benchmarks.workers`, in an environment with dsrt-native; a minute. The peer is multiprocessing,
which pickles a reply into a pipe: its own pool, and the least that one can write with a `Pipe`.
"""

import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import numpy as np

from dsrt_native._pool import Pool, StartMethod

METHODS: tuple[StartMethod, ...] = ("forkserver", "spawn", "fork")
MEGABYTES = 37
REPLIES = 30
ROUNDS = 5

_batches: dict[int, dict[str, Any]] = {}


def batch(size: int) -> dict[str, Any]:
    """Return a batch that is made once, so that its way back is all that is measured."""
    if size not in _batches:
        data = np.zeros(size, np.uint8)
        data[-1] = 1
        _batches[size] = {"image": data, "label": np.arange(256)}
    return _batches[size]


def private(_: Any) -> float:
    """Return the MiB that this process shares with no other."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def start(method: StartMethod, workers: int) -> None:
    """Print how long two pools take, one after the other, from their making to a reply of each worker."""
    for which in ("first pool", "second pool"):
        began = time.perf_counter()
        with Pool(private, workers, start_method=method) as pool:
            pool.submit(None)
            pool.take()
            first = time.perf_counter() - began
            idle = statistics.median(pool.map(range(2 * workers)))
        print(f"{method:10}  {which:11}  {first:6.3f} s to the first reply  {idle:5.1f} MiB private, idle")


def answer(connection: Connection) -> None:
    """Send back batches of the sizes that come: the plainest worker there is."""
    while (size := connection.recv()) is not None:
        connection.send(batch(size))


def through(pipes: list[Connection], size: int) -> Iterator[Any]:
    """Yield replies of plain workers in turns, two requests ahead of each, as the pool's."""
    for _ in range(2):
        for pipe in pipes:
            pipe.send(size)
    for i in range(REPLIES):
        pipe = pipes[i % len(pipes)]
        yield pipe.recv()
        if i < REPLIES - 2 * len(pipes):
            pipe.send(size)


def rate(draw: Callable[[int], Any], size: int) -> float:
    """Return the GB/s of a series of replies, each read once and dropped."""
    began = time.perf_counter()
    for reply in draw(size):
        # Of zeros but for its end, so this reads all of it.
        assert reply["image"].any()
    return size * REPLIES / (time.perf_counter() - began) / 1e9


def transfer() -> None:
    """Print how fast replies come back, ours and the peer's in turns."""
    size = MEGABYTES * 10**6
    context = multiprocessing.get_context("forkserver")
    pipes = []
    for _ in range(2):
        here, there = context.Pipe()
        context.Process(target=answer, args=(there,), daemon=True).start()
        pipes.append(here)
    with Pool(batch, 2) as pool, context.Pool(2) as peer:
        ways: dict[str, Callable[[int], Any]] = {
            "DSRT's pool": lambda size: pool.map([size] * REPLIES),
            "multiprocessing.Pipe": lambda size: through(pipes, size),
            "multiprocessing.Pool.imap": lambda size: peer.imap(batch, [size] * REPLIES),
        }
        for draw in ways.values():
            rate(draw, size)
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(ROUNDS):
            for name in list(ways)[:: 1 if turn % 2 else -1]:
                rates[name].append(rate(ways[name], size))
    for pipe in pipes:
        pipe.send(None)
    ours = statistics.median(rates["DSRT's pool"])
    for name, found in rates.items():
        each = size / statistics.median(found) / 1e6
        print(
            f"{name:26} {statistics.median(found):6.2f} GB/s ({min(found):.2f} to {max(found):.2f}), "
            f"{each:6.1f} ms for {MEGABYTES} MB; the pool {ours / statistics.median(found):.1f} times as fast"
        )


def main() -> None:
    """Run all of it; each start method in a process of its own, so that none finds a server running."""
    if len(sys.argv) > 1:
        start(cast(StartMethod, sys.argv[1]), 2)
        return
    print(f"{os.cpu_count()} CPUs, Python {sys.version.split()[0]}, two workers", flush=True)
    for method in METHODS:
        subprocess.run([sys.executable, "-m", "benchmarks.workers", method], check=True)
    transfer()


if __name__ == "__main__":
    main()
