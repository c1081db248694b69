"""Batches as tensors: cut from the engine's memory without a copy, or made from NumPy arrays."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import dsrt_native
from dsrt_native import _native
from dsrt_torch.ragged import RaggedArray

__all__ = ["converted", "tensors", "to_torch"]

_DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *(
            "float16",
            "float32",
            "float64",
            "bfloat16",
            "float8_e4m3fn",
            "float8_e5m2",
            "complex64",
            "complex128",
        ),
    )
}


def tensors(batch: _native.Batch) -> dict[str, Any]:
    """Return the columns of a native batch as tensors over its memory, writable, which they keep alive.

    Ragged fields become `RaggedArray`, strings lists. Times and durations become int64 in their unit, dates
    int64 days, and `_seed` (uint64, with which torch hardly computes) the same bits as int64.
    """
    return {name: _column(batch, place, name, layout) for place, (name, layout) in enumerate(batch.columns)}


def to_torch(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a batch of NumPy arrays as one of tensors, with the conversions of `Loader`.

    Args:
        batch: What a NumPy loader, an indexed dataset or a transform gives. Arrays of any dtype of the format
            are taken over without a copy, unless they are read-only or have negative strides; bfloat16 and
            float8 of ml_dtypes become torch's. Ragged arrays become `RaggedArray`, datetime64 and timedelta64
            int64 in their unit, `_seed` its bits as int64, NumPy scalars 0-d tensors, dicts are converted
            inside. All else (lists of str or bytes, tensors) stays what it is.

    Raises:
        TypeError: `batch` is no mapping, torch has no dtype for an array, or an array is a masked one.
    """
    return converted(batch, lambda tensor: tensor)


def converted(batch: Mapping[str, Any], finish: Callable[[Tensor], Tensor]) -> dict[str, Any]:
    """Return what `to_torch` does, with `finish` applied to each tensor, those of the batch included."""
    if not isinstance(batch, Mapping):
        raise TypeError(f"expected a batch, that is a dict by name, not {type(batch).__name__}")
    return {name: _value(name, value, finish) for name, value in batch.items()}


def _column(batch: _native.Batch, place: int, name: str, layout: tuple[Any, ...]) -> Any:
    match layout:
        case ("dense", element, shape, at):
            as_int64 = name == "_seed" or element.startswith(("datetime64", "timedelta64"))
            return _part(batch, torch.int64 if as_int64 else _DTYPES[element], shape, at)
        case ("ragged", dtype, ndim, values, count, offsets, shapes):
            samples = len(batch)
            return RaggedArray(
                _part(batch, _DTYPES[dtype], (count,), values),
                _part(batch, torch.int64, (samples + 1,), offsets),
                None if shapes is None else _part(batch, torch.int64, (samples, ndim), shapes),
            )
        case _:
            return batch.strings(place)


def _part(batch: _native.Batch, dtype: torch.dtype, shape: tuple[int, ...], at: int) -> Tensor:
    count = math.prod(shape)
    memory: Any = batch.memory
    if memory is not None:
        # `memory.base` is a tensor over the storage that was lent; see dsrt_torch.memory.
        part: Tensor = memory.base[at : at + count * dtype.itemsize]
        return part.view(dtype).view(shape)
    if count == 0:
        return torch.empty(shape, dtype=dtype, device="cpu")
    # A storage for each column, so that saving one tensor does not save the whole batch.
    return torch.frombuffer(batch, dtype=dtype, count=count, offset=at).view(shape)


def _value(name: str, value: Any, finish: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return finish(_tensor(name, value))
    if isinstance(value, Tensor):
        return finish(value)
    if isinstance(value, dsrt_native.RaggedArray | RaggedArray):
        return RaggedArray._make(None if part is None else _value(name, part, finish) for part in value)
    return converted(value, finish) if isinstance(value, Mapping) else value


def _tensor(name: str, value: NDArray[Any] | np.generic) -> Tensor:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name}: a masked array, whose mask would hide values; give .filled(value) or .data")
    array = np.asarray(value)
    as_int64 = array.dtype.kind in "mM" or (name == "_seed" and array.dtype == np.uint64)
    dtype = torch.int64 if as_int64 else _DTYPES.get(array.dtype.name)
    if dtype is None:
        raise TypeError(
            f"{name}: torch has no dtype for NumPy's {array.dtype}; convert the array or give a list"
        )
    size = dtype.itemsize
    if not array.dtype.isnative or not array.flags.writeable or any(s < 0 or s % size for s in array.strides):
        # torch has neither foreign byte order nor such strides, and would write through a read-only array.
        array = array.astype(array.dtype.newbyteorder("="), order="C")
    if as_int64:
        array = array.view(np.int64)
    elif array.dtype.isbuiltin == 2:  # of ml_dtypes: torch takes the bits
        array = array.view(np.uint16 if size == 2 else np.uint8)
    return torch.from_numpy(array).view(dtype)
