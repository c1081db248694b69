"""Samples of a source, made by worker processes and handed out in order."""

import contextlib
import datetime
import pickle
import time
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from dsrt_format import SchemaError, WorkerError
from dsrt_native._failure import Failure, described, rebuilt
from dsrt_native._pool import Pool
from dsrt_native.sources import size_of

__all__ = ["samples_by_workers"]

# A worker is given so much at a time: enough that asking costs nothing, and little enough that workers end
# together and replies stay small.
_SECONDS = 0.05
_BYTES = 4 << 20

# How much comes is only known from what came before. A range whose samples turn out slower or larger ends
# here, after one sample at least, and its rest is shared out anew.
_MOST_SECONDS = 1.0
_MOST_BYTES = 16 << 20

# What never changes, and can be sent.
_FIXED = (str, bytes, int, float, np.generic, datetime.date, datetime.timedelta)


class _Made(NamedTuple):
    """The samples of a range, up to the first that failed, or as many as are enough for once."""

    samples: list[dict[str, Any]]
    seconds: float
    size: int
    failure: Failure | None


class _Task:
    """Makes the samples of a range in a worker process."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __repr__(self) -> str:
        return f"the source {self._source.name!r}"

    def __call__(self, numbers: range) -> _Made:
        began = time.perf_counter()
        samples: list[dict[str, Any]] = []
        seconds, size = 0.0, 0
        failure = None
        try:
            for number in numbers:
                samples.append(_own(self._source[number], number))
                size += sum(map(_size, samples[-1].values()))
                seconds = time.perf_counter() - began
                if seconds > _MOST_SECONDS or size > _MOST_BYTES:
                    break
        except BaseException as error:
            failure = described(error)
        return _Made(samples, seconds, size, failure)


def samples_by_workers(source: Any, start: int, workers: int) -> Generator[dict[str, Any], None, None]:
    """Yield the samples of a source from number `start` on, as `workers` processes make them.

    Raises:
        StaleCacheError: It has fewer than `start`.
        Exception: What the source raised for a sample, after all samples before it.
        WorkerError: A process died; a note says what it was making.
    """
    total = size_of(source, start) or 0
    if start == total:
        return
    workers = min(workers, total - start)
    # What nobody was asked for yet, the next at the end.
    todo = [range(start, total)]
    # What is outstanding, by the numbers that the pool gives to requests.
    asked: dict[int, range] = {}
    # What came while something before it is missing, by the number of the first sample.
    early: dict[int, _Made] = {}
    number, length, requests = start, 1, 0
    with Pool(_Task(source), workers) as pool:
        try:
            while number < total:
                # Where much is early, only what is missing is asked for: what waits here is bounded.
                while todo and pool.free and (len(early) < 2 * workers or todo[-1].start == number):
                    # Towards the end less, so that all are busy to the last.
                    left = sum(map(len, todo))
                    numbers = todo.pop()
                    share = min(length, -(-left // (2 * workers)))
                    if len(numbers) > share:
                        todo.append(numbers[share:])
                    pool.submit(numbers[:share])
                    asked[requests] = numbers[:share]
                    requests += 1
                made: _Made = pool.take()
                numbers = asked.pop(next(iter(asked)))
                early[numbers.start] = made
                if made.samples:
                    cost = max(made.seconds / _SECONDS, made.size / _BYTES, 1e-6) / len(made.samples)
                    length = max(1, min(int(1 / cost), 2 * length))
                if made.failure is None and len(made.samples) < len(numbers):
                    todo.append(numbers[len(made.samples) :])
                    todo.sort(key=lambda rest: -rest.start)
                while (ready := early.pop(number, None)) is not None:
                    yield from ready.samples
                    if ready.failure is not None:
                        raise rebuilt(*ready.failure)
                    number += len(ready.samples)
        except WorkerError as error:
            dead = None if error.batch is None else asked.get(error.batch)
            if dead is not None:
                which = f" {dead[0]}" if len(dead) == 1 else f"s {dead[0]} to {dead[-1]}"
                error.add_note(f"it was making sample{which} of {source.name!r}")
            raise


def _own(sample: Any, number: int) -> dict[str, Any]:
    """Return a sample that stays as it is and can be sent: a source may fill the same arrays again.

    Raises:
        TypeError: It is no dict, as the writer would say.
        SchemaError: A value cannot be sent.
    """
    if not isinstance(sample, dict):
        raise TypeError(
            "a sample is a dict of the fields' and columns' names to values, not a "
            f"{type(sample).__name__} (sample {number})"
        )
    return {name: _kept(value, name, number) for name, value in sample.items()}


def _kept(value: Any, name: str, number: int) -> Any:
    if isinstance(value, np.ndarray | bytearray):
        return value.copy()
    if value is None or isinstance(value, _FIXED):
        return value
    with contextlib.suppress(TypeError, BufferError):
        # Buffers of other kinds: some change, some cannot be pickled.
        view = memoryview(value)
        return view.tobytes() if view.ndim == 1 and view.format in ("B", "c") else np.array(view)
    try:
        pickle.dumps(value, 5)
    except Exception as error:
        raise SchemaError(
            f"field {name}, sample {number}: a {type(value).__qualname__} cannot be sent from a worker "
            f"process: {error}"
        ) from error
    return value


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    return len(value) if isinstance(value, str | bytes | bytearray) else 8
