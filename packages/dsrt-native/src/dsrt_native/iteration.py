"""One sample after another: gathered some at a time, handed out one by one."""

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np

from dsrt_format import DsrtError
from dsrt_native import _native
from dsrt_native.batch import arrays
from dsrt_native.gather import Asked, item_of, records_of

__all__ = ["samples_of"]

_BYTES = 256 << 10
"""Gathered at a time, or one sample."""

_SAMPLES = 512
"""Gathered at a time at most: beyond, nothing is gained."""


def samples_of(population: _native.Population, fields: Asked | None, what: str) -> Iterator[dict[str, Any]]:
    """Yield all samples in order, each as brackets give it, with arrays that nothing else holds on to."""
    start, count = 0, 1
    while start < len(population):
        rows = range(start, min(start + count, len(population)))
        try:
            size, samples = _block(population, rows, fields)
        except (DsrtError, ValueError, OSError, MemoryError):
            # One is damaged, or null, or all are too large together: those before it come first.
            samples = (item_of(population, row, fields, what) for row in rows)
        else:
            count = max(1, min(2 * count, _SAMPLES, _BYTES * len(rows) // max(size, 1)))
        yield from samples
        start = rows.stop


def _block(
    population: _native.Population, rows: range, fields: Asked | None
) -> tuple[int, Iterator[dict[str, Any]]]:
    """Return the bytes that samples take, and the samples."""
    kinds = population.columns_of(rows.start, fields)
    names = [name for name, _ in kinds]
    dtypes = dict(fields or ())
    asked = [(name, dtypes.get(name)) for name in names]
    batch = population.gather(np.arange(rows.start, rows.stop, dtype=np.uint64), asked, False, None)
    columns = [
        records_of(column, kind) for column, (_, kind) in zip(arrays(batch).values(), kinds, strict=True)
    ]
    if len(rows) > 1:
        columns = [_own(records) for records in columns]
    values = zip(*columns, strict=True) if columns else repeat((), len(rows))
    return memoryview(batch).nbytes, (dict(zip(names, sample, strict=True)) for sample in values)


def _own(records: list[Any]) -> list[Any]:
    """Return arrays as copies, so that one that is kept does not keep its neighbours."""
    return [record.copy() for record in records] if isinstance(records[0], np.ndarray) else records
