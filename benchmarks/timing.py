"""How long batches take."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from benchmarks.peer import Numbers
from benchmarks.suite import Found
from benchmarks.workload import Batch, Packed

QUEUED = 16
"""Batches: as many as a loader ever has queued, or reads at once, in the settings that are tried.

The machine's alone has more, of small records: it fills up to 1 MiB at once.
"""

LATE = 4.0
"""A loader so slow that `QUEUED` batches take so many times as long as a trial has no queue that fills."""


def enough(count: int, passed: float, seconds: float) -> bool:
    """Whether so many batches in so long are enough: `QUEUED`, unless these take `LATE` times the seconds."""
    return passed >= seconds and (count >= QUEUED or passed >= LATE * seconds)


def touch(batch: Batch) -> None:
    """Read its last element: the batch is there, not merely promised."""
    if isinstance(batch, list):
        batch = batch[-1]
    values = batch.values if isinstance(batch, Packed) else batch
    values.flat[-1].item()


def seconds_each(step: Callable[[], Batch], seconds: float) -> list[float]:
    """The time of each batch of a loader, over so many seconds and `enough` of them; one batch at least."""
    times: list[float] = []
    began = last = time.perf_counter()
    while not times or not enough(len(times), last - began, seconds):
        touch(step())
        now = time.perf_counter()
        times.append(now - last)
        last = now
    return times


def settle(step: Callable[[], object], seconds: float) -> None:
    """Take batches as fast as they come, until what follows is not what was queued before the clock began.

    The start of the loader, which the first batch waits for, does not count.
    """
    step()
    began, count = time.perf_counter(), 0
    while not enough(count, time.perf_counter() - began, seconds):
        step()
        count += 1


def gathers(
    gather: Callable[[Numbers], Batch], blocks: Iterator[Iterable[Numbers]], seconds: float
) -> list[float]:
    """The time of each gather, over so many seconds; the clock stands still while a block is drawn."""
    times: list[float] = []
    left = seconds
    while not times or left > 0:
        block = next(blocks)
        began = time.perf_counter()
        for numbers in block:
            touch(gather(numbers))
            now = time.perf_counter()
            times.append(now - began)
            left -= now - began
            began = now
            if left <= 0:
                break
    return times


def rate(times: Sequence[float], batch: int) -> float:
    """Samples a second."""
    return batch * len(times) / sum(times)


def figures(work: str, times: Sequence[float], batch: int) -> Found:
    """Samples a second, and the median and the 95th percentile of a batch in seconds."""
    return {work: rate(times, batch), **middle_and_late(work, times)}


def middle_and_late(work: str, times: Sequence[float]) -> dict[str, float]:
    """The median and the 95th percentile."""
    middle, late = np.percentile(times, [50, 95]).tolist()
    return {f"{work} median": middle, f"{work} p95": late}
