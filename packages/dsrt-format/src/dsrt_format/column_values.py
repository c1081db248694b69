"""Values of metadata columns: what samples hold, checked and as Arrow stores it, and back."""

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsrt_format.columns import COLUMN_TYPES, NUMBERS
from dsrt_format.single_values import BYTES_WANTED, bytes_of, exact_number, in_range, number_of, shown

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_array", "arrow_type", "column_type", "numpy_values", "python_values", "stored_value"]

_SECOND = 10**18
# In attoseconds, the finest unit of NumPy. Its years and months have no length.
_LENGTHS = {
    "W": 604_800 * _SECOND,
    "D": 86_400 * _SECOND,
    "h": 3600 * _SECOND,
    "m": 60 * _SECOND,
    "s": _SECOND,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}
_EPOCH = datetime.datetime(1970, 1, 1)


def arrow_type(word: str) -> "pa.DataType":
    """Return the Arrow type that a column type is stored as."""
    import pyarrow as pa

    unit, zone = _unit(word)
    if word.startswith("timestamp"):
        return pa.timestamp(unit, zone)
    if word.startswith("duration"):
        return pa.duration(unit)
    special = {
        "bool": pa.bool_(),
        "string": pa.string_view(),
        "binary": pa.binary_view(),
        "date": pa.date32(),
    }
    return special.get(word) or pa.from_numpy_dtype(np.dtype(word))


def column_type(kind: "pa.DataType") -> str:
    """Return the column type that is stored as an Arrow type."""
    return next(word for word in COLUMN_TYPES if arrow_type(word) == kind)


def stored_value(word: str, value: Any) -> Any:
    """Check a value for a column and return it as it is stored; nothing is ever cast silently.

    Args:
        word: The type of the column.
        value: None and NaT are null. Numbers are Python's or NumPy's: an integer must fit; what goes into a
            float column must be a float or an integer that the type holds exactly (a float that may be
            rounded says so as `numpy.float32(value)`). Strings are str, binaries what
            `dsrt_format.single_values.bytes_of` takes. A date is a `datetime.date`, a timestamp a
            `datetime.datetime` (with a zone if and only if the column is UTC), a duration a
            `datetime.timedelta`; for all three NumPy's datetime64 and timedelta64 do, too, and for the last
            two those of pandas, if the unit of the column holds them exactly.

    Returns:
        None, bool, int, float, str or bytes; for dates the days and for timestamps and durations the units
        since the epoch.

    Raises:
        ValueError: The value does not fit; the message says why, without naming column and sample.
    """
    if value is None:
        return None
    if word == "bool" or word in NUMBERS:
        if (number := number_of(value)) is not None and (found := exact_number(word, number)) is not None:
            return found
    elif word == "string":
        if isinstance(value, str):
            _check_text(value)
            return str(value)
    elif word == "binary":
        if (data := bytes_of(value)) is not None:
            return data
        raise ValueError(f"{_refused(word, value)}; {BYTES_WANTED}")
    else:
        return _temporal(word, value)
    raise _refused(word, value)


def arrow_array(word: str, values: Sequence[Any]) -> "pa.Array":
    """Return stored values as an Arrow array with buffers of its own, and a bitmap only if one is null."""
    import pyarrow as pa

    kind = arrow_type(word)
    if word in ("bool", "string", "binary"):
        return pa.array(values, kind)
    kind_of_value = _numpy_dtype(word)
    out = np.zeros(
        len(values), "<i4" if word == "date" else "<i8" if kind_of_value.kind in "mM" else kind_of_value
    )
    valid = np.ones(len(values), bool)
    for i, value in enumerate(values):
        if value is None:
            valid[i] = False
        else:
            out[i] = value
    bitmap = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bitmap, pa.py_buffer(out)])


def numpy_values(word: str, array: "pa.Array") -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the values of an array of numbers, bools or times, and which of them are not null, None for all.

    Dates and timestamps are datetime64, durations timedelta64, in the unit of the column.
    """
    bitmap, data = array.buffers()
    if len(array) == 0 or data is None:
        return np.zeros(0, _numpy_dtype(word)), None
    valid = _bits(bitmap, array.offset, len(array)) if array.null_count and bitmap is not None else None
    if word == "bool":
        return _bits(data, array.offset, len(array)), valid
    stored = np.dtype("<i4") if word == "date" else _numpy_dtype(word)
    values = np.frombuffer(data, stored, len(array), array.offset * stored.itemsize)
    return (values.astype(np.int64).view(_numpy_dtype(word)) if word == "date" else values), valid


def python_values(word: str, array: "pa.Array") -> list[Any]:
    """Return the values of an array as samples hold them.

    Null is None; the others are bool, int, float, str and bytes. Dates and timestamps are `numpy.datetime64`,
    durations `numpy.timedelta64` in the unit of the column, because Python's own types hold neither
    nanoseconds nor years beyond 9999; a UTC column gives them without the zone, which NumPy has not.
    """
    if word in ("string", "binary"):
        # One by one: computing on views is what pyarrow gets wrong.
        return [value.as_py() for value in array]
    values, valid = numpy_values(word, array)
    found = list(values) if values.dtype.kind in "mM" else values.tolist()
    return found if valid is None else [v if ok else None for v, ok in zip(found, valid, strict=True)]


def _numpy_dtype(word: str) -> np.dtype[Any]:
    if word == "date":
        return np.dtype("datetime64[D]")
    if word.startswith("timestamp"):
        return np.dtype(f"datetime64[{_unit(word)[0]}]")
    if word.startswith("duration"):
        return np.dtype(f"timedelta64[{_unit(word)[0]}]")
    return np.dtype(word)


def _unit(word: str) -> tuple[str, str | None]:
    unit, _, zone = word.partition("[")[2].rstrip("]").partition(", ")
    return unit, zone or None


def _bits(buffer: "pa.Buffer", start: int, count: int) -> NDArray[np.bool_]:
    packed = np.frombuffer(buffer, np.uint8)
    return np.unpackbits(packed, count=start + count, bitorder="little")[start:].view(np.bool_)


def _refused(word: str, value: object) -> ValueError:
    return ValueError(f"expected {word} or None, found {shown(value):.80} of type {type(value).__name__}")


def _check_text(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the string holds a lone surrogate at {error.start}, which UTF-8 cannot express"
        ) from None


def _temporal(word: str, value: Any) -> int | None:
    if isinstance(value, datetime.datetime) and value != value:  # pandas' NaT
        return None
    unit, zone = _unit(word)
    is_duration = word.startswith("duration")
    if isinstance(value, np.timedelta64 if is_duration else np.datetime64):
        if np.isnat(value):
            return None
        length = _numpy_length(value)
    elif is_duration and isinstance(value, datetime.timedelta):
        length = _length(value)
    elif word == "date" and isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        length = _length(value - _EPOCH.date())
    elif word.startswith("timestamp") and isinstance(value, datetime.datetime):
        offset = value.utcoffset()
        if (offset is None) != (zone is None):
            raise ValueError(f"{value!r}: a datetime has a zone if and only if its column is UTC")
        # As integers: a datetime itself cannot leave the years 1 to 9999, not even by its zone.
        length = _length(value.replace(tzinfo=None) - _EPOCH) - (0 if offset is None else _length(offset))
    else:
        raise _refused(word, value)
    found, rest = divmod(length, _LENGTHS[unit or "D"])
    if rest:
        raise ValueError(f"{value!r} is no whole number of {unit or 'D'}; round it or use a finer column")
    return in_range(found, -(2**31), 2**31 - 1) if word == "date" else in_range(found, 1 - 2**63, 2**63 - 1)


def _numpy_length(value: np.datetime64 | np.timedelta64) -> int:
    unit, step = np.datetime_data(value.dtype)
    if unit not in _LENGTHS:
        raise ValueError(f"the unit {unit!r} is not known here; use one of {', '.join(_LENGTHS)}")
    return int(value.astype(np.int64)) * step * _LENGTHS[unit]


def _length(value: datetime.timedelta) -> int:
    seconds = value.days * 86_400 + value.seconds
    nanoseconds = getattr(value, "nanoseconds", 0)  # pandas' Timedelta is a timedelta with these beside
    return seconds * _SECOND + value.microseconds * _LENGTHS["us"] + nanoseconds * _LENGTHS["ns"]
