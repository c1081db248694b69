"""The loader's path: in order, in batches that raise and in batches that mask, and each field alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

import dsrt_native
from dsrt_format.dtypes import ITEMSIZE
from tests.faults.batches import MOST, is_text, judge_batch, records, rows_without_nulls
from tests.faults.judge import Judge
from tests.faults.truth import Truth

VAST = 2**32
"""Bytes: a forged manifest can say of a record without a valid checksum that it is as large as that."""


def read_loader(path: Path, known: Truth, judge: Judge) -> None:
    """Read by the loader, in order: batches that raise, batches that mask, and each field alone."""
    population = None
    with judge.attempt("open"):
        population = dsrt_native.Cache.open(path).population
    if population is None or not judge.count(len(population)):
        return
    payload = list(population.fields)
    whole = [name for name in known.columns if name not in known.nulls or is_text(known, name)]
    clean = _stream(population, payload + whole, known, judge, "loader")
    rows = rows_without_nulls(known, len(population))
    if known.nulls:
        some = None
        with judge.attempt("population of rows"):
            some = dsrt_native.Population(population.caches, rows=rows)
        if some is not None:
            clean &= _stream(some, sorted(known.nulls), known, judge, "loader of rows", rows)
    if clean:
        return
    _masked(population, payload, known, judge)
    for name in payload:
        _stream(population, [name], known, judge, "loader of one field", size=1, field=name)


def _stream(
    population: dsrt_native.Population,
    names: list[str],
    known: Truth,
    judge: Judge,
    way: str,
    rows: list[int] | None = None,
    *,
    size: int = 5,
    field: str | None = None,
) -> bool:
    """Read one pass; return whether nothing was refused."""
    clean, done = False, False
    with (
        judge.attempt(way, field),
        dsrt_native.Loader(
            population, size, order="sequential", fields=[*names, "_row"], threads=2, prefetch=2
        ) as loader,
    ):
        batches = iter(loader)
        clean = True
        for _ in range(-(-min(len(population), MOST) // size) + 1):
            done, before = True, judge.rules.total()
            with judge.attempt(way, field):
                batch = next(batches, None)
                if batch is None:
                    break
                own = batch.pop("_row").tolist()
                if not batch.pop("_valid", np.True_).all():
                    judge.fail("silently wrong", f"{way}: a batch that raises says that rows are damaged")
                judge_batch(batch, own if rows is None else [rows[row] for row in own], known, judge, way)
            clean &= judge.rules.total() == before
    return clean and done


def _masked(population: dsrt_native.Population, names: list[str], known: Truth, judge: Judge) -> None:
    """Read one pass in which damaged records are zero or empty, and said to be."""
    zeros = 5 * sum(_zeros(population.fields[name]) for name in names)
    with (
        judge.attempt("masked", vast=zeros > VAST),
        dsrt_native.Loader(
            population, 5, order="sequential", fields=[*names, "_row"], threads=2, errors="mask"
        ) as loader,
    ):
        for batch in loader:
            own = batch.pop("_row").tolist()
            valid = batch.pop("_valid", [True] * len(own))
            for name, values in batch.items():
                for sample, value, good in zip(own, records(values), valid, strict=True):
                    if good or not _is_void(value):
                        judge.record(name, sample, value, "masked")


def _zeros(field: Any) -> int:
    """Return the bytes that a damaged record takes in a batch that masks."""
    return math.prod(field.shape) * ITEMSIZE[field.dtype] if field.kind == "dense" else 0


def _is_void(value: Any) -> bool:
    return not value.any() if hasattr(value, "any") else len(value) == 0
