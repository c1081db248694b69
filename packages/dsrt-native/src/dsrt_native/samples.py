"""Many samples given at once, as columns: what each may be, before the engine looks at the values."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dsrt_format import Bytes, Dense, Ragged, SchemaError, Text
from dsrt_format.fields import FieldSpec
from dsrt_native.batch import RaggedArray
from dsrt_native.columns import check_names_of
from dsrt_native.times import Clock

__all__ = ["given_columns"]

Given: TypeAlias = tuple[str, Any]
"""A word and what it says is there: ``arrow`` data; ``packed``, an array whose first axis counts the samples;
``ragged``, elements, offsets, shapes; ``each``, a list; or a dtype, its numbers and where they are null."""


def given_columns(
    columns: Mapping[str, Any] | Any,
    fields: Mapping[str, FieldSpec],
    metadata: Mapping[str, str],
    clocks: Mapping[str, Clock],
    first: int,
) -> Any:
    """Return columns of samples as the engine takes them: a table, or a dict of `Given`.

    Args:
        columns: See `CacheWriter.append_batch`.
        fields: The payload fields of the cache.
        metadata: Its metadata columns.
        clocks: Those of the metadata columns that count time.
        first: The number of the first sample, for messages.

    Raises:
        TypeError: They are neither a mapping nor Arrow data.
        SchemaError: A column is nothing that its field or column takes.
    """
    if _is_arrow(columns):
        check_names_of(columns)
        return columns
    if not isinstance(columns, Mapping):
        raise TypeError(
            "columns: expected a mapping of names to arrays and lists, or a table with __arrow_c_stream__, "
            f"not {columns!r}"
        )
    given = {}
    for name, values in columns.items():
        try:
            if _is_arrow(values):
                check_names_of(values)
                given[name] = ("arrow", values)
            elif name in fields:
                given[name] = _records(fields[name], values)
            elif name in metadata:
                given[name] = _values(values, clocks.get(name))
            else:
                # The engine refuses the name.
                given[str(name)] = ("each", [])
        except ValueError as error:
            reason, *place = error.args
            sample = f", sample {first + place[0]}" if place else ""
            raise SchemaError(f"field {name}{sample}: {reason}") from None
    return given


def _is_arrow(values: Any) -> bool:
    return hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")


def _records(field: FieldSpec, values: Any) -> Given:
    if isinstance(values, RaggedArray):
        if not isinstance(field, Ragged):
            raise ValueError(f"a RaggedArray, and the field is {field.kind}")
        shapes = values.shapes
        return "ragged", (
            values.values,
            _places(values.offsets),
            None if shapes is None else _places(shapes).ravel(),
        )
    if isinstance(values, np.ndarray):
        return _array(field, values)
    if isinstance(field, Dense) and field.shape:
        # One object for all samples; whatever has no buffer is refused with advice.
        return "packed", values
    return "each", _listed(values, "one array or a list")


def _array(field: FieldSpec, values: NDArray[Any]) -> Given:
    if isinstance(field, Dense) or (isinstance(field, Ragged) and values.dtype != object):
        return "packed", values
    _one_axis(values, axes=2 if isinstance(field, Bytes) and values.dtype == np.uint8 else 1)
    if isinstance(field, Bytes) and values.dtype.kind == "S":
        raise ValueError(f"an array of {values.dtype}, which cuts zeros at the end; give a list of bytes")
    if isinstance(field, Text) and values.dtype.kind not in "UTO":
        raise ValueError(f"an array of {values.dtype}; text is a list of str")
    return "each", list(values) if values.dtype == np.uint8 else values.tolist()


def _values(values: Any, clock: Clock | None) -> Given:
    if not isinstance(values, np.ndarray) or values.dtype.kind in "UTO":
        if isinstance(values, np.ndarray):
            _one_axis(values)
            values = values.tolist()
        listed = _listed(values, "an array on one axis or a list")
        return "each", listed if clock is None else [_ticks(clock, *item) for item in enumerate(listed)]
    _one_axis(values)
    dtype = values.dtype
    if not dtype.isnative:
        raise ValueError(f"big-endian {dtype}; call .astype({dtype.newbyteorder('=').str!r})")
    if dtype.kind == "S":
        raise ValueError(f"an array of {dtype}, which cuts zeros at the end; give a list of bytes")
    if clock is not None or dtype.kind in "mM":
        if clock is None or dtype.kind not in "mM":
            wanted = "no time" if clock is None else f"a {clock.kind}"
            raise ValueError(f"an array of {dtype}; the column holds {wanted}")
        counts, null = clock.all_ticks(values)
        return "int64", (_bytes(counts), _bytes(null))
    for kinds, wide in _WIDE.items():
        if dtype.kind in kinds and dtype.itemsize <= 8:
            return wide, (_bytes(values.astype(wide, copy=False)), None)
    raise ValueError(f"an array of {dtype}; columns hold bool, integers, floats, strings, bytes and times")


# Each type of a number in a column, and one of four that holds all its values.
_WIDE = {"b": "bool", "i": "int64", "u": "uint64", "f": "float64"}


def _ticks(clock: Clock, place: int, value: Any) -> int | None:
    try:
        return clock.ticks(value)
    except ValueError as error:
        raise ValueError(str(error), place) from None


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8)


def _places(values: Any) -> NDArray[np.uint64]:
    array = np.asanyarray(values)
    if array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise ValueError("offsets and shapes of a RaggedArray are integers from 0 on")
    return np.ascontiguousarray(array, np.uint64)


def _one_axis(values: NDArray[Any], axes: int = 1) -> None:
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError("a masked array; call .filled(value), or give a list with None")
    if values.ndim != axes:
        raise ValueError(f"an array of shape {values.shape}; give one value for each sample")


def _listed(values: Any, wanted: str) -> list[Any]:
    if isinstance(values, list):
        return values
    if isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray | RaggedArray):
        return list(values)
    kind = type(values)
    raise ValueError(f"{kind.__module__}.{kind.__qualname__}; give {wanted}, with one value for each sample")
