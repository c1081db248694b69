"""Values of a sample in few words: arrays by dtype, shape, range and first values; bytes by length."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dsrt_cli.terminal import printable, size

__all__ = ["in_words", "plain", "summary"]

_FIRST_ELEMENTS = 8
_FIRST_BYTES = 16
_FIRST_LETTERS = 2000


def summary(value: Any) -> Any:
    """What JSON can hold of a value.

    Returns:
        For arrays a dict of dtype, shape, min and max (None without order or elements) and the first
        elements; for bytes one of their number and the first in hex; for dates, timestamps and durations
        their text; anything else as it is. Floats that JSON lacks are the texts nan, inf and -inf.
    """
    if isinstance(value, np.ndarray):
        low, high = _range(value)
        first = value.reshape(-1)[:_FIRST_ELEMENTS]
        return {
            "dtype": value.dtype.name,
            "shape": list(value.shape),
            "min": plain(low),
            "max": plain(high),
            "first": [plain(element) for element in first],
        }
    if isinstance(value, bytes):
        return {"bytes": len(value), "first": value[:_FIRST_BYTES].hex()}
    return plain(value)


def in_words(value: Any) -> str:
    """A value for people."""
    if isinstance(value, np.ndarray):
        words = f"{value.dtype.name} ({', '.join(map(str, value.shape))})"
        low, high = _range(value)
        if low is not None:
            words += f", {low!s} to {high!s}"
        # As NumPy writes them: a float32 in as many digits as it has.
        first = " ".join(map(str, value.reshape(-1)[:_FIRST_ELEMENTS]))
        return f"{words}: {first}{' …' if value.size > _FIRST_ELEMENTS else ''}"
    if isinstance(value, bytes):
        first = value[:_FIRST_BYTES].hex(" ")
        return f"{size(len(value))}: {first}{' …' if len(value) > _FIRST_BYTES else ''}"
    if isinstance(value, str):
        more = len(value) - _FIRST_LETTERS
        return printable(value[:_FIRST_LETTERS]) + (f" … and {more:,} letters more" if more > 0 else "")
    return "null" if value is None else str(plain(value))


def _range(array: npt.NDArray[Any]) -> tuple[Any, Any]:
    if array.size == 0 or array.dtype.kind == "c":
        return None, None
    # fmin and fmax pass NaN over where there is anything else.
    flat = array.reshape(-1)
    return np.fmin.reduce(flat), np.fmax.reduce(flat)


def plain(value: Any) -> Any:
    """A scalar as JSON can hold it: times, complex numbers, NaN and the infinities become texts."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    if isinstance(value, np.generic):
        # bfloat16 and float8 are NumPy's to no more than this.
        value = value.item() if isinstance(value, np.number | np.bool_) else float(value)
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
