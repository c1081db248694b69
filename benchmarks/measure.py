"""The work of one process: a single system on a single workload. It prints one line of JSON.

python -m benchmarks.measure write|read PEER WORKLOAD FOLDER SECONDS [smoke]
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.peer import Reader, load
from benchmarks.workload import Packed, Workload
from benchmarks.workloads import WORKLOADS

CHECKED_BATCHES = 4
WARMING_BATCHES = 16


def write(peer: str, workload: Workload, folder: Path) -> dict[str, float]:
    """Store the workload; the time is for information, its own benchmark is another."""
    folder.mkdir(parents=True)
    began = time.perf_counter()
    load(peer).write(workload, folder)
    return {"seconds": time.perf_counter() - began}


def read(peer: str, workload: Workload, folder: Path, seconds: float) -> dict[str, float]:
    """Samples per second of gather and of the loader, after both delivered the right values.

    Raises:
        ValueError: A batch does not hold what was written, or not what was asked for.
    """
    reader = load(peer).opened(workload, folder)
    asked = np.random.default_rng(2).integers(0, workload.samples, (64, workload.batch), np.int64)
    batches = reader.batches(workload.batch)
    _check(reader, workload, asked, batches)
    _warm(reader, workload)
    turns = 0

    def gather() -> object:
        nonlocal turns
        turns += 1
        return reader.gather(asked[turns % len(asked)])

    found = {"gather": _rate(gather, reader, workload.batch, seconds)}
    for _ in range(WARMING_BATCHES):
        next(batches)
    found["loader"] = _rate(lambda: next(batches), reader, workload.batch, seconds)
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


def main() -> None:
    """Do as the arguments say."""
    action, peer, name, folder, seconds, *smoke = sys.argv[1:]
    workload = WORKLOADS[name].shrunk() if smoke else WORKLOADS[name]
    if action == "write":
        print(json.dumps(write(peer, workload, Path(folder))))
    else:
        print(json.dumps(read(peer, workload, Path(folder), float(seconds))))


if __name__ == "__main__":
    main()
