"""What Polars expressions and arrays say about rows: which to keep, in which order, with which weights.

Each function looks at the metadata frame of a dataset and returns a NumPy array; positions are rows of that
frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsrt_format import SchemaError
from dsrt_native.gather import integers_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["added", "kept", "selected", "sorted_by", "weights"]


def kept(frame: pl.DataFrame, predicates: Sequence[pl.Expr | pl.Series]) -> NDArray[np.int64]:
    """Return the positions where every predicate is true; null is not true.

    Raises:
        TypeError: A predicate is not an expression or series.
        SchemaError: A predicate is not one boolean column.
        polars.exceptions.ColumnNotFoundError: A predicate names a column that is not there.
    """
    import polars as pl

    for predicate in predicates:
        if not isinstance(predicate, pl.Expr | pl.Series):
            raise TypeError(
                f"filter: expected Polars expressions such as pl.col('label') == 1, not {predicate!r}"
            )
        given = frame.lazy().select(predicate).collect_schema()
        if len(given) != 1:
            raise SchemaError(
                f"filter: {predicate} is {len(given)} columns; make one of them with pl.all_horizontal(...)"
            )
        (dtype,) = given.dtypes()
        if dtype != pl.Boolean:
            raise SchemaError(f"filter: {predicate} is {dtype}, not Boolean; compare it with something")
    places = pl.int_range(pl.len(), dtype=pl.Int64)
    return frame.select(places.filter(*predicates) if predicates else places).to_series().to_numpy()


def sorted_by(
    frame: pl.DataFrame,
    by: str | pl.Expr | Sequence[str | pl.Expr],
    descending: bool | Sequence[bool],
) -> NDArray[np.int64]:
    """Return all positions, ordered by columns; equal rows keep their order, nulls come first."""
    import polars as pl

    keys = [by] if isinstance(by, str | pl.Expr) else list(by)
    places = pl.int_range(pl.len(), dtype=pl.Int64)
    in_order = places.sort_by(keys, descending=descending, maintain_order=True)
    return frame.select(in_order).to_series().to_numpy()


def selected(rows: Sequence[int] | NDArray[np.integer[Any]] | pl.Series, n: int) -> NDArray[np.int64]:
    """Return positions as an int64 array.

    Raises:
        TypeError: They are not a flat list of integers.
        IndexError: One is negative or not below `n`.
    """
    import polars as pl

    array = integers_of(rows.to_numpy() if isinstance(rows, pl.Series) else rows)
    outside = (array < 0) | (array >= n)
    if outside.any():
        place = int(outside.argmax())
        raise IndexError(f"select_rows: item {place} is row {array[place]}; rows are 0 to {n - 1}")
    return array.astype(np.int64)


def weights(frame: pl.DataFrame, given: pl.Expr | pl.Series) -> NDArray[np.float64]:
    """Return one weight per row; whether they are finite and not negative is for the population to say.

    Args:
        frame: The columns that an expression sees.
        given: An expression (one value is repeated) or a series.

    Raises:
        TypeError: The values are not numbers.
        ValueError: A weight is null.
        SchemaError: An expression is not one column.
    """
    import polars as pl

    if isinstance(given, pl.Expr):
        columns = len(frame.lazy().select(given).collect_schema())
        if columns != 1:
            raise SchemaError(f"with_weights: {given} is {columns} columns; a weight is one number a row")
        given = frame.lazy().with_columns(given.alias("weight")).select("weight").collect().to_series()
    if not (given.dtype.is_numeric() or given.dtype == pl.Boolean):
        raise TypeError(f"with_weights: expected numbers, not {given.dtype}")
    if given.null_count():
        first = given.is_null().arg_max()
        raise ValueError(
            f"with_weights: {given.null_count()} of {len(given)} weights are null, the first in row {first}; "
            "say what such rows count with .fill_null(...)"
        )
    return given.cast(pl.Float64).to_numpy()


def added(frame: pl.DataFrame, exprs: tuple[Any, ...], named: dict[str, Any]) -> pl.DataFrame:
    """Return the columns that `exprs` and `named` make, with as many rows as `frame`."""
    import polars as pl

    # One iterable stands for all expressions; Polars is asked twice, and an iterator gives them only once.
    given = list(exprs[0]) if len(exprs) == 1 and isinstance(exprs[0], Iterator) else list(exprs)
    names = frame.lazy().select(*given, **named).collect_schema().names()
    whole = frame.with_columns(*given, **named)
    # By get_column and a dict: select takes some names for regular expressions, a list renames an empty name.
    return pl.DataFrame({name: whole.get_column(name) for name in names})
