"""How long batches take."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.suite import Found
from benchmarks.workload import Batch, Packed


def touch(batch: Batch) -> None:
    """Read its last element: the batch is there, not merely promised."""
    if isinstance(batch, list):
        batch = batch[-1]
    values = batch.values if isinstance(batch, Packed) else batch
    values.flat[-1].item()


def seconds_each(step: Callable[[], Batch], seconds: float) -> list[float]:
    """The time of each batch, over so many seconds; one batch at least."""
    times: list[float] = []
    began = time.perf_counter()
    end = began + seconds
    while not times or began < end:
        touch(step())
        now = time.perf_counter()
        times.append(now - began)
        began = now
    return times


def rate(times: Sequence[float], batch: int) -> float:
    """Samples a second."""
    return batch * len(times) / sum(times)


def figures(work: str, times: Sequence[float], batch: int) -> Found:
    """Samples a second, and the median and the 95th percentile of a batch in seconds."""
    middle, late = np.percentile(times, [50, 95]).tolist()
    return {work: rate(times, batch), f"{work} median": middle, f"{work} p95": late}
