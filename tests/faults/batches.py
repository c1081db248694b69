"""Values of batches and tables of the native readers, as the judge takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

import dsrt_native
from tests.faults.judge import Judge
from tests.faults.truth import Truth

MOST = 64
"""Of a forged cache with more samples than this, so many are read one by one."""


def judge_batch(batch: dict[str, Any], rows: Iterable[int], known: Truth, judge: Judge, way: str) -> None:
    places = list(rows)
    for name, values in batch.items():
        if name in known.columns:
            judge.cells(name, list(values), way, places)
        else:
            judge.records(name, records(values), way, places)


def records(values: Any) -> Iterable[Any]:
    if isinstance(values, dsrt_native.RaggedArray):
        return values.to_list()
    # An element of an array of one axis is a scalar; a record without axes is an array.
    if hasattr(values, "ndim") and values.ndim == 1:
        return [values[i, ...] for i in range(len(values))]
    return list(values)


def columns(table: pa.Table) -> dict[str, list[Any]]:
    found = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        elif pa.types.is_temporal(column.type):
            column = column.cast(pa.int64())
        found[name] = column.to_pylist()
    return found


def is_text(known: Truth, name: str) -> bool:
    return known.types[name] in ("string", "binary")


def rows_without_nulls(known: Truth, count: int) -> list[int]:
    return [
        row
        for row in range(min(len(known), count))
        if all(known.columns[name][row] is not None for name in known.nulls)
    ]
