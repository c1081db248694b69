"""The native paths: `dsrt_native.Cache`, mapped and by pread, every record and cell in several ways."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dsrt_native
from dsrt_format import SchemaError
from dsrt_format.dtypes import numpy_dtype
from dsrt_format.errors import FormatError
from tests.faults.batches import MOST, columns, is_text, judge_batch, records, rows_without_nulls
from tests.faults.judge import Judge
from tests.faults.truth import Truth

LARGE = 4 << 10, 64 << 10
"""Bytes of such a record; a forged manifest may claim any."""

SHARED = 5 << 20
"""Bytes of a column: from 2 MiB on it is stored past the caches, from 4 MiB on threads share it."""

WIDER = {"int64": 32, "float32": 16, "float64": 32}
"""What integers are delivered as, too, and of how many bits they are at most, so that they come back."""


class Native:
    """Reads by `dsrt_native.Cache`, whose records come mapped or by pread.

    Args:
        io: ``"mmap"`` or ``"pread"``.
        verify: False skips the comparison of record checksums.
    """

    def __init__(self, io: str, *, verify: bool = True) -> None:
        self._io = io
        self._verify = verify

    def __call__(self, path: Path, known: Truth, judge: Judge) -> None:
        cache = None
        with judge.attempt("open"):
            cache = dsrt_native.Cache.open(path, verify=self._verify, io=self._io)
        if cache is None or not judge.count(len(cache)):
            return
        with cache:
            every = range(min(len(cache), MOST))
            for name, field in cache.fields.items():
                with judge.attempt("slice", name):
                    judge.records(name, records(field[:]), "slice")
                for sample in every:
                    with judge.attempt("record", name, sample, [("field", name, sample)]):
                        judge.record(name, sample, field[sample], "record")
                with judge.attempt("lengths", name):
                    _judge_lengths(name, field, judge, known)
            with judge.attempt("gather"):
                judge_batch(cache.population.gather(every, list(cache.fields)), every, known, judge, "gather")
            for name, times in _many(cache, len(every)).items():
                with judge.attempt("gather of many", name):
                    batch = cache.population.gather([*every] * times, [name])
                    parts = batch[name].reshape(times, len(every), *batch[name].shape[1:])
                    judge.records(name, list(parts[0]), "gather of many", every)
                    if (parts != parts[0]).any():
                        judge.fail("silently wrong", f"gather of many: {name} is not the same {times} times")
            for dtype, bits in WIDER.items():
                wide = {name: dtype for name, field in cache.fields.items() if _is_narrow(field, bits)}
                with judge.attempt(f"gather as {dtype}"):
                    batch = cache.population.gather(every, wide)
                    narrow = {
                        name: _narrow(values, cache.fields[name].dtype) for name, values in batch.items()
                    }
                    judge_batch(narrow, every, known, judge, f"gather as {dtype}")
            rows = rows_without_nulls(known, len(cache))
            with judge.attempt("metadata"):
                for name, values in columns(cache.metadata).items():
                    judge.cells(name, values, "table")
            for name in known.columns:
                with judge.attempt("gather of a column"):
                    own = rows if name in known.nulls and not is_text(known, name) else every
                    _gather_column(cache, name, own, judge)


def _many(cache: dsrt_native.Cache, samples: int) -> dict[str, int]:
    """Return how often to ask for all samples, for a column that threads share and store past the caches.

    Of dense fields of large records alone, which need few samples for it.
    """
    found = {}
    for name, field in cache.fields.items():
        if field.kind == "dense" and samples:
            record = math.prod(field.shape) * numpy_dtype(field.dtype).itemsize
            if LARGE[0] <= record <= LARGE[1]:
                found[name] = -(-SHARED // (record * samples))
    return found


def _is_narrow(field: Any, bits: int) -> bool:
    """Return whether a field is of integers of at most so many bits."""
    if field.kind not in ("dense", "ragged"):
        return False
    dtype = numpy_dtype(field.dtype)
    return dtype.kind in "iu" and 8 * dtype.itemsize <= bits


def _narrow(values: Any, dtype: str) -> Any:
    """Return integers as they are stored, which all of them fit."""
    if isinstance(values, dsrt_native.RaggedArray):
        return values._replace(values=values.values.astype(dtype))
    return values.astype(dtype)


def _judge_lengths(name: str, field: Any, judge: Judge, known: Truth) -> None:
    lengths = field.lengths()
    for sample in range(min(len(lengths), MOST)):
        value = judge.seen.get(("field", name, sample)) if not judge.knows else known.fields[name][sample]
        if value is None:
            continue
        if isinstance(value, tuple):
            expected = 1
            for axis in value[1]:
                expected *= axis
        else:
            expected = len(value.encode() if isinstance(value, str) else value)
        if lengths[sample] != expected:
            judge.fail("silently wrong", f"lengths: {name} {sample} is {lengths[sample]}, not {expected}")


def _gather_column(cache: dsrt_native.Cache, name: str, rows: Iterable[int], judge: Judge) -> None:
    try:
        batch = cache.population.gather([row for row in rows if row < len(cache)], [name])
    except (SchemaError, ValueError) as error:
        # A forged table can lack the column, or have a null where ours has none.
        if judge.knows or isinstance(error, FormatError):
            raise
        return
    judge.cells(name, list(batch[name]), "gather", rows)
