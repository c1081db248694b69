"""Values of payload fields: what samples hold, checked, as the bytes of a record, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrt_format.dtypes import name_of, numpy_dtype
from dsrt_format.entries import Field
from dsrt_format.fields import FieldSpec, shape_problem

__all__ = ["record_bytes", "record_value"]


def record_bytes(spec: FieldSpec, value: Any) -> tuple[bytes, tuple[int, ...]]:
    """Check a value for a field; return its bytes before the codec and its shape. Nothing is ever cast.

    Args:
        spec: The field.
        value: For dense and ragged fields an array or scalar of NumPy with exactly the field's dtype, in
            native byte order, without a mask; for bytes fields bytes, bytearray or memoryview; for text
            fields str.

    Returns:
        C-order little-endian bytes; the shape of the array, or the length in bytes.

    Raises:
        ValueError: The value does not fit; the message says why, without naming field and sample.
    """
    if spec.kind == "bytes":
        if not isinstance(value, bytes | bytearray | memoryview):
            raise ValueError(f"expected bytes, found {type(value).__name__}")
        data = bytes(value)
        return data, (len(data),)
    if spec.kind == "text":
        if not isinstance(value, str):
            raise ValueError(f"expected str, found {type(value).__name__}")
        try:
            data = value.encode()
        except UnicodeEncodeError as error:
            message = f"the text holds a lone surrogate at {error.start}, which UTF-8 cannot express"
            raise ValueError(message) from None
        return data, (len(data),)
    array = _checked_array(spec.dtype, value)
    if spec.kind == "dense" and array.shape != spec.shape:
        raise ValueError(f"expected the shape {spec.shape}, found {array.shape}")
    if spec.kind == "ragged":
        if array.ndim != spec.ndim:
            raise ValueError(f"expected {spec.ndim} axes, found the shape {array.shape}")
        if (problem := shape_problem(array.shape, array.itemsize)) is not None:
            raise ValueError(f"the shape {array.shape}: {problem}")
    return array.tobytes(), array.shape


def record_value(field: Field, data: bytes, shape: tuple[int, ...]) -> Any:
    """Return the bytes of a record as samples hold them: a writable array, bytes or str.

    Raises:
        ImportError: The dtype is bfloat16 or float8 and ml_dtypes is not installed.
    """
    if field.kind == "bytes":
        return data
    if field.kind == "text":
        return data.decode()
    return np.ndarray(shape, numpy_dtype(field.dtype), bytearray(data))


def _checked_array(dtype: str, value: Any) -> NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError("a masked array has values that are not there; call .filled(value) first")
    if not isinstance(value, np.ndarray | np.generic):
        raise ValueError(
            f"expected a NumPy array of {dtype}, found {type(value).__name__}; "
            f"call numpy.asarray(value, {dtype!r})"
        )
    array = np.asarray(value)
    if array.dtype.kind == "O":
        raise ValueError(f"an array of Python objects has no dtype; call .astype({dtype!r}) first")
    if name_of(array.dtype) != dtype:
        raise ValueError(f"expected the dtype {dtype}, found {array.dtype}; call .astype({dtype!r}) first")
    if not array.dtype.isnative:
        raise ValueError(
            f"expected native byte order, found {array.dtype.str!r}; "
            "call .astype(array.dtype.newbyteorder('=')) first"
        )
    if dtype == "bool" and (array.view(np.uint8) > 1).any():
        raise ValueError(
            "the array of bools has bytes other than 0 and 1; make it by a comparison such as x != 0"
        )
    return array
