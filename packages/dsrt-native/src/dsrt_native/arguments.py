"""Arguments checked before the engine sees them, and those of other loaders refused with advice."""

import operator
from collections.abc import Callable, Mapping
from typing import TypeVar

__all__ = ["callback", "refuse", "whole", "word"]

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
