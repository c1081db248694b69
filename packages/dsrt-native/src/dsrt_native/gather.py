"""From what people write between brackets to rows, and from rows to a batch or one sample."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from dsrt_native import _native
from dsrt_native.batch import Batch, RaggedArray, arrays
from dsrt_native.columns import check_text

__all__ = [
    "Asked",
    "Errors",
    "Fields",
    "Rows",
    "asked_of",
    "batch_of",
    "integers_of",
    "item_of",
    "masks",
    "records_of",
    "rows_of",
]

Rows: TypeAlias = slice | Sequence[int] | NDArray[np.integer[Any]]
"""What asks for many: a slice, or a list or 1-D array of integers; negative ones count from the end."""

Fields: TypeAlias = Iterable[str] | Mapping[str, str | None]
"""What a batch is to hold: names; or names and, for each, the dtype to deliver, None for the stored one."""

Asked: TypeAlias = list[tuple[str, str | None]]
"""The same as the engine takes it."""

Errors: TypeAlias = Literal["raise", "mask"]
"""What a damaged record does: raise DataError, or come back zero or empty with ``_valid`` false."""

_BOOLS = frozenset((bool, np.bool_))
"""Neither can be subclassed."""


def _row_of(index: SupportsIndex, count: int, what: str) -> int:
    """Return one index as a row from 0.

    Raises:
        IndexError: It is out of range of `count` rows.
        TypeError: It is a bool.
    """
    if isinstance(index, bool):
        raise TypeError(f"{what} {index}: a bool is no index")
    row = operator.index(index)
    if not -count <= row < count:
        raise IndexError(_out_of_range(row, count, what))
    return row % count


def rows_of(index: Rows, count: int, what: str) -> NDArray[np.uint64]:
    """Return the rows that a slice or a collection of integers asks for, in that order.

    Raises:
        IndexError: One is out of range of `count` rows.
        TypeError: It is neither, or holds bools or floats.
    """
    if isinstance(index, slice):
        return np.arange(*index.indices(count), dtype=np.int64).view(np.uint64)
    rows = integers_of(index)
    if rows.dtype == np.int64:
        # As unsigned numbers, negative ones are the largest: one look finds all that is not plain.
        places = np.ascontiguousarray(rows).view(np.uint64)
        if places.size == 0 or places.max() < count:
            return places
    outside = (rows >= count) | (rows < -count) if rows.dtype.kind == "i" else rows >= count
    if outside.any():
        raise IndexError(_out_of_range(int(rows[outside.argmax()]), count, what))
    wide = rows.astype(np.int64)
    return np.where(wide < 0, wide + count, wide).astype(np.uint64)


def integers_of(index: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """Return a list, range or array of integers as an array.

    Raises:
        TypeError: It is something else, such as a mask of bools.
    """
    if isinstance(index, np.ndarray) and index.ndim == 1 and index.dtype.kind in "iu":
        return index
    rows = np.asarray(index)
    if isinstance(index, tuple) or rows.ndim != 1:
        raise TypeError(f"expected an integer, a slice, or a list or 1-D array of integers, not {index!r}")
    if rows.size == 0 and not isinstance(index, np.ndarray):
        return np.empty(0, np.int64)
    if rows.dtype == np.bool_ or (isinstance(index, list) and not _BOOLS.isdisjoint(map(type, index))):
        raise TypeError("a mask of bools is no list of rows; use np.flatnonzero(mask)")
    if rows.dtype.kind not in "iu":
        raise TypeError(f"rows are integers, not {rows.dtype}")
    return rows


def asked_of(fields: Fields | None) -> Asked | None:
    """Return the names in `fields` with the dtypes to deliver; None stands for the default ones.

    Raises:
        TypeError: It is one string, or no collection, or holds something else than names and dtypes' names.
        SchemaError: A name holds a lone surrogate.
    """
    if fields is None:
        return None
    is_mapping = isinstance(fields, Mapping)
    if (
        isinstance(fields, str | bytes)
        or not isinstance(fields, Iterable)
        or hasattr(fields, "keys") > is_mapping
    ):
        raise TypeError(f"fields={fields!r}: expected a list of names, or a mapping of names to dtypes")
    asked: Asked = list(fields.items()) if isinstance(fields, Mapping) else [(name, None) for name in fields]
    for name, dtype in asked:
        if not isinstance(name, str):
            raise TypeError(f"fields: expected names, found {name!r}")
        check_text(name, "fields")
        if dtype is None:
            continue
        if not isinstance(dtype, str):
            raise TypeError(
                f"fields: expected a dtype's name such as 'int64' or None for {name!r}, found {dtype!r}"
            )
        check_text(dtype, "fields")
    return asked


def masks(errors: Errors) -> bool:
    """Return whether damaged records are masked.

    Raises:
        ValueError: It is neither of the two words.
    """
    if errors not in ("raise", "mask"):
        raise ValueError(f"errors={errors!r}: expected 'raise' or 'mask'")
    return errors == "mask"


def batch_of(
    population: _native.Population,
    rows: NDArray[np.uint64],
    fields: Asked | None,
    mask: bool = False,
) -> Batch:
    """Return the samples at `rows` as a batch, gathered in one native call without the GIL."""
    return arrays(population.gather(rows, fields, mask, None))


def item_of(
    population: _native.Population,
    index: SupportsIndex | Rows,
    fields: Asked | None,
    what: str,
) -> dict[str, Any]:
    """Return what brackets ask for: one sample for an integer, else a batch."""
    # Arrays and tensors have __index__, too, whatever their shape. isinstance of a protocol takes longer than
    # the reading.
    if type(index) is not int and (not hasattr(index, "__index__") or getattr(index, "ndim", 0) > 0):
        return batch_of(population, rows_of(cast(Rows, index), len(population), what), fields)
    kinds, sample = population.sample(_row_of(index, len(population), what), fields)
    columns = arrays(sample)
    return {
        name: records_of(columns[name], is_field)[0] if name in columns else None for name, is_field in kinds
    }


def records_of(column: Any, is_field: bool) -> list[Any]:
    """Return the records of a batch's column, each what the reference reader returns for it.

    Args:
        column: An array, a `RaggedArray` or a list.
        is_field: Whether it is a payload field.
    """
    if isinstance(column, RaggedArray):
        return column.to_list()
    if isinstance(column, list):
        return column
    if is_field:
        # Of one axis, a list would hold NumPy's scalars.
        return list(column) if column.ndim > 1 else [column[place, ...] for place in range(len(column))]
    # Python has no type for nanoseconds.
    return list(column) if column.dtype.kind in "mM" else list(column.tolist())


def _out_of_range(row: int, count: int, what: str) -> str:
    return f"{what} {row} is out of range: there are {count}"
