"""Arrays of people as extra columns and weights: exact types, nothing cast silently."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrt_format import SchemaError

__all__ = ["check_names_of", "check_text", "columns_of", "weights_of"]

_KINDS: dict[type, str] = {bool: "b", int: "iu", float: "f"}
"""What NumPy's arrays of Python's numbers are, if none was changed."""


def columns_of(columns: Mapping[str, Any] | Any) -> Any:
    """Return extra columns as the engine takes them: a table, or a list of names and columns.

    Raises:
        TypeError: It is neither a mapping nor a table with the Arrow PyCapsule interface.
        SchemaError: An array's type has no column type.
    """
    if hasattr(columns, "__arrow_c_stream__"):
        check_names_of(columns)
        return columns
    if not isinstance(columns, Mapping):
        raise TypeError(
            "columns: expected a mapping of names to arrays, or a table with __arrow_c_stream__, "
            f"not {columns!r}"
        )
    for name in columns:
        if not isinstance(name, str):
            raise TypeError(f"columns: expected a str as the name of a column, not {name!r}")
        check_text(name, "the name of a column")
    return [(name, _column(name, values)) for name, values in columns.items()]


def check_names_of(table: Any) -> None:
    """Refuse Arrow data whose names the C interface cannot carry: Polars aborts, pyarrow cuts the name.

    Raises:
        SchemaError: A name holds U+0000.
    """
    # The schema's names are pyarrow's, columns those of Polars and pandas, the one name a series has.
    names = getattr(getattr(table, "schema", None), "names", None)
    for several in (names, getattr(table, "columns", None)):
        for name in several if isinstance(several, Iterable) else ():
            _check_name(name)
    _check_name(getattr(table, "name", None))


def check_text(text: str, what: str) -> None:
    """Refuse what the engine cannot hold.

    Raises:
        SchemaError: The text holds a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{what}: {text!r} holds a lone surrogate, which UTF-8 cannot express") from None


def _check_name(name: object) -> None:
    if isinstance(name, str) and "\0" in name:
        raise SchemaError(
            f"the name of a column: {name!r} holds U+0000, which Arrow's C interface cannot carry"
        )


def weights_of(weights: ArrayLike) -> NDArray[np.float64]:
    """Return weights as float64; integers and narrower floats are exact in it, or nearly.

    Raises:
        TypeError: They are not numbers on one axis.
    """
    array = np.asanyarray(weights)
    if isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "iuf" or array.ndim != 1:
        raise TypeError(
            f"weights: expected float64 on one axis, not {type(weights).__name__} of {array.dtype} "
            f"with {array.ndim} axes"
        )
    return np.ascontiguousarray(array, np.float64)


def _column(name: str, values: Any) -> Any:
    """Return an Arrow array as it is, and anything else as a type word and a buffer or list of strings."""
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        check_names_of(values)
        return values
    # A list of bytes stays one: NumPy would cut zeros at the end of each.
    if isinstance(values, list) and any(isinstance(value, str | bytes) for value in values):
        return _strings(name, values)
    array = np.asanyarray(values)
    if isinstance(values, list | tuple):
        _check_kept(name, values, array.dtype)
    if isinstance(array, np.ma.MaskedArray):
        raise SchemaError(
            f"column {name}: a masked array; call .filled(value), or give Arrow data with nulls"
        )
    if array.ndim != 1:
        raise SchemaError(f"column {name}: expected one axis, one value per row, not the shape {array.shape}")
    if array.dtype.kind == "S":
        raise SchemaError(
            f"column {name}: an array of {array.dtype}, which cuts zeros at the end; give a list of bytes"
        )
    if array.dtype.kind in "UOT":
        return _strings(name, array.tolist())
    word, native = _number(name, array)
    return word, np.ascontiguousarray(native).view(np.uint8)


def _check_kept(name: str, values: Iterable[Any], dtype: np.dtype[Any]) -> None:
    """Refuse Python numbers of which NumPy has made another kind of numbers."""
    kinds = {type(value) for value in values}
    if dtype.kind in "biuf" and any(dtype.kind not in _KINDS.get(kind, "biuf") for kind in kinds):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise SchemaError(
            f"column {name}: NumPy makes {dtype} of this list of {found}; "
            "give an array of the type it should have"
        )


def _strings(name: str, values: list[Any]) -> tuple[str, list[Any]]:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {str}:
        for value in values:
            if value is not None:
                check_text(value, f"column {name}")
        return "string", values
    if kinds == {bytes}:
        return "binary", values
    found = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise SchemaError(f"column {name}: expected only str and None, or only bytes and None, found {found}")


def _number(name: str, array: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    dtype = array.dtype
    if not dtype.isnative:
        raise SchemaError(f"column {name}: big-endian {dtype}; call .astype({dtype.newbyteorder('=').str!r})")
    if dtype.kind in "biu" or dtype in (np.float32, np.float64):
        return dtype.name, array
    unit = np.datetime_data(dtype)[0] if dtype.kind in "Mm" else ""
    if unit and (lacking := np.isnat(array)).any():
        raise SchemaError(
            f"column {name}: {np.count_nonzero(lacking)} values are NaT, the first in row "
            f"{lacking.argmax()}; give Arrow data, which can have nulls, such as pyarrow.array(values)"
        )
    if dtype.kind == "M" and unit == "D":
        days = array.view(np.int64)
        if (days.astype(np.int32) != days).any():
            raise SchemaError(f"column {name}: a date beyond int32 days from 1970")
        return "date", days.astype(np.int32)
    if unit in ("ms", "us", "ns") and np.datetime_data(dtype)[1] == 1:
        return f"{'timestamp' if dtype.kind == 'M' else 'duration'}[{unit}]", array.view(np.int64)
    raise SchemaError(
        f"column {name}: {dtype} is no column type; there are bool, integers, float32, float64, strings, "
        "bytes, datetime64 of D, ms, us or ns and timedelta64 of ms, us or ns"
    )
