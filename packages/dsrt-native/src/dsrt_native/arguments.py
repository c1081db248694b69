"""Arguments checked before the engine sees them, and those of other loaders refused with advice."""

import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

__all__ = ["callback", "fill_of", "lengths_of", "refuse", "whole", "word"]

_Function = TypeVar("_Function", bound=Callable[..., object])

_HERE = {
    "shuffle": "order='permuted' shuffles, order='sequential' does not; seed= chooses the permutation",
    "drop_last": "last='drop' drops the rest of a window, last='pad' or 'short' keeps it",
    "collate_fn": "batches are made whole by the engine; transform= is given each batch, and "
    "RaggedArray.to_padded pads",
    "persistent_workers": "the engine's threads live until close()",
    "num_workers": "threads= of the engine read and decode; transform= runs on the consumer's thread",
    "prefetch_factor": "prefetch= counts batches, max_bytes= bounds their memory",
    "sampler": "order= and the dataset's weights say which rows come",
    "batch_sampler": "order= and batch_size say which rows come",
    "generator": "seed= is all the randomness there is",
    "pin_memory": "dsrt_torch.Loader has it",
    "pin_memory_device": "pin_memory=True of dsrt_torch.Loader pins for CUDA",
    "worker_init_fn": "there are no worker processes; what is random in transform= comes from _seed",
    "multiprocessing_context": "there are no worker processes; threads= of the engine read and decode",
    "timeout": "a wait for a batch ends with the batch, its error or Ctrl-C",
    "in_order": "batches always come in the order of the stream",
}


def refuse(foreign: Mapping[str, object]) -> None:
    """Refuse keyword arguments that a loader does not have.

    Raises:
        TypeError: There is one; the message says how the same is done here.
    """
    for name in foreign:
        advice = f": {_HERE[name]}" if name in _HERE else ""
        raise TypeError(f"Loader has no argument {name!r}{advice}")


def whole(name: str, value: int, low: int, high: int = 2**63 - 1) -> int:
    """Return an argument that is an integer in a range.

    Raises:
        TypeError: It is no integer, or a bool.
        ValueError: It is out of the range.
    """
    if isinstance(value, bool):
        raise TypeError(f"{name}={value}: expected an integer")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: expected an integer") from None
    if not low <= number <= high:
        raise ValueError(f"{name}={number}: expected {low} to {high}")
    return number


def fill_of(fill: Any, dtype: str) -> Any:
    """Return what padding of a dtype is filled with, which must not wrap or lose its fraction in silence.

    Raises:
        ValueError: The dtype is bool or one of integers, and `fill` none that it holds; or `fill` is None.
    """
    if dtype == "bool":
        if fill in (False, True):
            return bool(fill)
        raise ValueError(f"fill={fill!r}: the records are bool; give False or True")
    if not dtype.startswith(("int", "uint")):
        if fill is None:
            raise ValueError(f"fill=None: give a value that {dtype} holds")
        return fill
    held = np.iinfo(dtype)
    with suppress(TypeError):
        if held.min <= (number := operator.index(fill)) <= held.max:
            return number
    raise ValueError(
        f"fill={fill!r}: the records are {dtype}, which holds integers of {held.min} to {held.max}; "
        "for another fill ask for a dtype that holds it, such as fields={name: 'int64'}"
    )


def lengths_of(length: Any) -> list[int]:
    """Return the lengths to pad to, one an axis.

    Raises:
        TypeError: It is neither an integer nor a collection of integers.
        ValueError: One is negative.
    """
    each: Iterable[Any]
    try:
        each = [operator.index(length)]
    except TypeError:
        each = length if isinstance(length, Iterable) else [length]
    return [whole("length", one, 0) for one in each]


def callback(name: str, value: _Function) -> _Function:
    """Return an argument that is a function.

    Raises:
        TypeError: It cannot be called.
    """
    if not callable(value):
        raise TypeError(f"{name}={value!r}: expected a function")
    return value


def word(name: str, value: str | None, words: tuple[str, ...]) -> str | None:
    """Return an argument that is one of some words, or None.

    Raises:
        ValueError: It is something else.
    """
    if value is not None and value not in words:
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, words))}")
    return value
