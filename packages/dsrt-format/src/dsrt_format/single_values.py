"""Single numbers, and strings of bytes, which a field and a metadata column take alike: never cast."""

from typing import Any

import numpy as np

from dsrt_format.columns import NUMBERS

__all__ = ["BYTES_WANTED", "bytes_of", "exact_number", "in_range", "number_of", "refuse_masked", "shown"]

BYTES_WANTED = (
    "bytes are bytes or a buffer of them on one axis, without gaps; "
    "call .encode() on a str, .tobytes() on an array or memoryview"
)
"""What `bytes_of` takes, for messages."""

_MAX_IN_FLOAT = 2**64


def number_of(value: Any) -> bool | int | float | None:
    """Return a single number of Python or NumPy as one of Python; None if the value is something else.

    Those of NumPy are scalars of bool, integers and floats, as their dtypes call themselves, of at most 64
    bits. An array is no single number, not even one without axes, and neither is a timedelta64.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        number: bool | int | float = value.item()
        return number
    return None


def exact_number(word: str, number: bool | int | float) -> bool | int | float | None:
    """Return a number as a type stores it; None if the type stores no numbers of this kind.

    A bool goes into bool only, a float into floats only, an integer into integers and floats.

    Args:
        word: ``bool`` or one of `dsrt_format.columns.NUMBERS`; other types store no numbers.
        number: As from `number_of`.

    Raises:
        ValueError: The type does not hold exactly this value.
    """
    if isinstance(number, bool) or word == "bool":
        return number if isinstance(number, bool) and word == "bool" else None
    if word not in NUMBERS:
        return None
    if word not in ("float32", "float64"):
        limits = np.iinfo(word)
        return in_range(number, int(limits.min), int(limits.max)) if isinstance(number, int) else None
    if isinstance(number, int):
        # Nobody means a larger one to be a float, even one that is a float exactly.
        in_range(number, -_MAX_IN_FLOAT, _MAX_IN_FLOAT)
    with np.errstate(over="ignore"):
        found = float(np.dtype(word).type(number))
    # Between Python's integers and floats == is exact. A NaN differs from itself.
    if found != number and number == number:
        raise ValueError(
            f"{shown(number)} is no {word} exactly; call numpy.{word}(...) on it if it may be rounded"
        )
    return found


def in_range(value: int, low: int, high: int) -> int:
    """Return an integer that is in a range, both ends included.

    Raises:
        ValueError: It is not.
    """
    if not low <= value <= high:
        raise ValueError(f"{shown(value)} is outside {low} to {high}")
    return value


def bytes_of(value: Any) -> bytes | None:
    """Return the bytes of bytes, or of a buffer of bytes; None if the value is neither.

    A buffer is whatever has the buffer protocol, with elements of the format ``B`` or ``c``, on one axis,
    without gaps, so that it holds these bytes and nothing that would have to be made bytes first.

    Raises:
        ValueError: It is a masked array, whose mask would be lost.
    """
    if isinstance(value, bytes):
        return bytes(value)
    refuse_masked(value)
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    if view.format not in ("B", "c") or view.ndim != 1:
        return None
    # Where nothing is there are no gaps, but a memoryview goes by its strides.
    return view.tobytes() if view.c_contiguous or not view.nbytes else None


def refuse_masked(value: object) -> None:
    """Raise ValueError for a masked array."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError("a masked array has values that are not there; call .filled(value) first")


def shown(value: object) -> str:
    """Return a value in words, for messages."""
    # Python refuses to write integers of thousands of digits.
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)
