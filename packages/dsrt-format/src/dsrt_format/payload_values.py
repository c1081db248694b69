"""Values of payload fields: what samples hold, checked, as the bytes of a record, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrt_format.columns import NUMBERS
from dsrt_format.dtypes import name_of, numpy_dtype
from dsrt_format.entries import Field
from dsrt_format.fields import FieldSpec, shape_problem
from dsrt_format.single_values import BYTES_WANTED, bytes_of, exact_number, number_of, refuse_masked, shown

__all__ = ["record_bytes", "record_value"]

_KINDS = {bool: "a bool", int: "an integer", float: "a float"}


def record_bytes(spec: FieldSpec, value: Any) -> tuple[bytes, tuple[int, ...]]:
    """Check a value for a field; return its bytes before the codec and its shape. Nothing is ever cast.

    Args:
        spec: The field.
        value: For dense and ragged fields an array or scalar of NumPy, or another object with the buffer
            protocol, with exactly the field's dtype, in native byte order, without a mask. For dense fields
            of shape () a single number of Python or NumPy does, too, if the dtype is bool, an integer,
            float32 or float64 and holds exactly this value. For bytes fields what
            `dsrt_format.single_values.bytes_of` takes; for text fields str.

    Returns:
        C-order little-endian bytes; the shape of the array, or the length in bytes.

    Raises:
        ValueError: The value does not fit; the message says why, without naming field and sample.
    """
    if spec.kind == "bytes":
        if (found := bytes_of(value)) is None:
            raise ValueError(f"expected bytes, found {type(value).__name__}; {BYTES_WANTED}")
        return found, (len(found),)
    if spec.kind == "text":
        if not isinstance(value, str):
            raise ValueError(f"expected str, found {type(value).__name__}")
        try:
            data = value.encode()
        except UnicodeEncodeError as error:
            message = f"the text holds a lone surrogate at {error.start}, which UTF-8 cannot express"
            raise ValueError(message) from None
        return data, (len(data),)
    if spec.kind == "dense" and not spec.shape:
        # A scalar of the very dtype keeps its bits, those of a NaN, too.
        is_element = isinstance(value, np.generic) and name_of(value.dtype) == spec.dtype
        number = None if is_element else number_of(value)
        if number is not None:
            return _number_bytes(spec.dtype, number), ()
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


def _number_bytes(dtype: str, number: bool | int | float) -> bytes:
    if dtype != "bool" and dtype not in NUMBERS:
        raise ValueError(
            f"{shown(number):.80} is not stored as {dtype}; give an array or scalar of NumPy with that dtype"
        )
    if (found := exact_number(dtype, number)) is None:
        raise ValueError(
            f"expected {dtype}, found {shown(number):.80}, which is {_KINDS[type(number)]}; "
            "convert it if that is meant"
        )
    return np.array(found, dtype).tobytes()


def _checked_array(dtype: str, value: Any) -> NDArray[Any]:
    refuse_masked(value)
    if not isinstance(value, np.ndarray | np.generic):
        try:
            # NumPy itself would take bytes for one string.
            value = memoryview(value)
        except (TypeError, ValueError, BufferError):
            raise ValueError(
                f"expected a NumPy array of {dtype}, found {type(value).__name__}; "
                f"call numpy.asarray(value, {dtype!r})"
            ) from None
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
