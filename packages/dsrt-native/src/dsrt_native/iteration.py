"""One sample after another: gathered some at a time, handed out one by one."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrt_format import DsrtError
from dsrt_native import _native
from dsrt_native.batch import arrays
from dsrt_native.gather import Asked, item_of, records_of

__all__ = ["samples_of"]

_BYTES = 256 << 10
"""Gathered at a time, or one sample."""

_SAMPLES = 512
"""Gathered at a time at most: beyond, nothing is gained."""

_ALIGNMENT = 64
"""Of a batch's memory."""

_MOST = 4 << 20
"""Never more bytes at a time, but for one sample: those to come may be larger than those before."""


def samples_of(population: _native.Population, fields: Asked | None, what: str) -> Iterator[dict[str, Any]]:
    """Yield all samples in order, each as brackets give it: its arrays hold on to no other sample."""
    start, count = 0, 1
    while start < len(population):
        rows = range(start, min(start + count, len(population)))
        start = rows.stop
        if count == 1:
            sample = item_of(population, rows[0], fields, what)
            count = 1 if 2 * _bytes_of(sample) > _BYTES else 2
            yield sample
            # What it has may be used again for the next one.
            del sample
            continue
        try:
            size, samples = _block(population, rows, fields)
        except (DsrtError, ValueError, OSError, MemoryError):
            # One is damaged, or null, or all are too large together: those before it come first.
            samples, count = (item_of(population, row, fields, what) for row in rows), 1
        else:
            count = max(1, min(2 * count, _SAMPLES, _BYTES * len(rows) // max(size, 1)))
        yield from samples


def _bytes_of(sample: dict[str, Any]) -> int:
    """Return about how many bytes the large ones of its values have."""
    return sum(
        value.nbytes if isinstance(value, np.ndarray) else len(value)
        for value in sample.values()
        if isinstance(value, np.ndarray | str | bytes)
    )


def _block(
    population: _native.Population, rows: range, fields: Asked | None
) -> tuple[int, Iterator[dict[str, Any]]]:
    """Return the bytes that samples take, and the samples.

    Raises:
        MemoryError: They are too large together.
    """
    kinds = population.kinds(fields)
    names = [name for name, _ in kinds]
    batch = population.gather(np.arange(rows.start, rows.stop, dtype=np.uint64), fields, False, _memory)
    columns = [
        records_of(column, is_field)
        for column, (_, is_field) in zip(arrays(batch).values(), kinds, strict=True)
    ]
    values = zip(*map(_own, columns), strict=True) if columns else repeat((), len(rows))
    return memoryview(batch).nbytes, (dict(zip(names, sample, strict=True)) for sample in values)


def _memory(size: int) -> NDArray[np.uint8]:
    """Return memory for a batch."""
    if size > _MOST:
        raise MemoryError(f"{size} bytes are too much for samples that are read together")
    room = np.empty(size + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    return room[start : start + size]


def _own(records: list[Any]) -> Iterable[Any]:
    """Return arrays as copies, so that one that is kept does not keep its neighbours."""
    return map(np.ndarray.copy, records) if isinstance(records[0], np.ndarray) else records
