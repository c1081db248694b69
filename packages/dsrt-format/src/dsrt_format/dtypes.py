"""The element types of payload fields: names, sizes and their NumPy counterparts.

Names are spelt as ml_dtypes and torch spell them. NumPy itself lacks bfloat16 and float8; those come from the
optional package ml_dtypes and are never handed out as integers in disguise.
"""

from typing import Any

import numpy as np

__all__ = ["ITEMSIZE", "name_of", "numpy_dtype"]

ITEMSIZE: dict[str, int] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "complex64": 8,
    "complex128": 16,
}
"""Bytes per element of each dtype of the format, by name."""

_EXTENDED = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a dtype name, in native byte order.

    Args:
        name: A key of `ITEMSIZE`.

    Raises:
        ValueError: The name is not a dtype of the format.
        ImportError: The dtype is bfloat16 or float8 and ml_dtypes is not installed.
    """
    if name not in ITEMSIZE:
        raise ValueError(f"unknown dtype {name!r}; the dtypes are {', '.join(ITEMSIZE)}")
    if name not in _EXTENDED:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(
            f"NumPy has no {name}: the package ml_dtypes supplies it; pip install 'dsrt-format[dtypes]'",
            name="ml_dtypes",
        ) from error
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


def name_of(dtype: np.dtype[Any]) -> str | None:
    """Return the name of a NumPy dtype of either byte order, or None if the format has no such dtype."""
    if dtype.kind in "biufcV" and dtype.name in ITEMSIZE and dtype.names is None and dtype.subdtype is None:
        return str(dtype.name)
    return None
