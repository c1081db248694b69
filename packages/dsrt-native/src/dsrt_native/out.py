"""Memory of the caller's for a batch: an array for each column, or a function that lends all of it."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dsrt_native import _native
from dsrt_native.batch import Batch, arrays, elements
from dsrt_native.gather import Asked

__all__ = ["Out", "batch_in"]

Out: TypeAlias = Mapping[str, NDArray[Any]] | Callable[[int], object]
"""An array for each column by name; or a function from a size in bytes to something with such a buffer."""


def batch_in(
    out: Out, population: _native.Population, rows: NDArray[np.uint64], fields: Asked | None, mask: bool
) -> Batch:
    """Return the samples at `rows` as a batch that lies in `out`.

    Raises:
        TypeError: `out` is neither a mapping nor a function, or holds something that is no array.
        ValueError: An array is missing, or not asked for, or cannot hold its column.
    """
    if not isinstance(out, Mapping):
        if not callable(out):
            raise TypeError(f"out={out!r}: expected a dict of arrays, or a function of a size in bytes")
        return arrays(population.gather(rows, fields, mask, _lending(out)))
    columns = population.dense(fields, mask)
    given = dict(out)
    if mask and not any(name == "_valid" for name, _ in fields or ()):
        # It comes by itself, so nobody has to think of it.
        given.setdefault("_valid", np.empty(len(rows), np.bool_))
    _check_names([name for name, _ in columns], given)
    places = [_bytes(name, given[name], record, len(rows)) for name, record in columns]
    population.gather_into(rows, fields, mask, places)
    return {name: given[name] for name, _ in columns}


def _lending(out: Callable[[int], Any]) -> Callable[[int], NDArray[np.uint8]]:
    """Return the function that asks `out` for memory, and gives it as bytes, whatever it consists of."""

    def lend(size: int) -> NDArray[np.uint8]:
        if size == 0:
            return np.empty(0, np.uint8)
        lent = out(size)
        try:
            memory: NDArray[np.uint8] = np.frombuffer(lent, np.uint8)
        except (TypeError, ValueError, BufferError) as error:
            raise TypeError(
                f"out({size}) returned {type(lent).__name__}, whose memory cannot be used ({error}); give an "
                f"object with a writable buffer of {size} bytes in a row: an mmap, a NumPy array, or "
                "tensor.numpy() of a tensor"
            ) from error
        return memory

    return lend


def _check_names(names: list[str], given: Mapping[str, object]) -> None:
    lacking = [name for name in names if name not in given]
    if lacking:
        raise ValueError(f"out: there is no array for {', '.join(map(repr, lacking))}, which the batch holds")
    foreign = [name for name in given if name not in names]
    if foreign:
        raise ValueError(f"out: {', '.join(map(repr, foreign))} is not asked for; the batch holds {names}")


def _bytes(
    name: str, array: object, record: tuple[str, tuple[int, ...]] | None, count: int
) -> NDArray[np.uint8]:
    """Return the bytes of an array, in place, if it is as one of `count` such records must be."""
    if record is None:
        raise ValueError(
            f"out[{name!r}]: how long the records are is known only when they are read, so no array can be "
            "ready for them; give out= a function, which is asked for memory then"
        )
    if not isinstance(array, np.ndarray):
        raise TypeError(
            f"out[{name!r}]: expected a NumPy array, not {type(array).__name__}; a tensor's is tensor.numpy()"
        )
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"out[{name!r}] is a masked array, whose mask would hide values; give its .data")
    dtype, shape = elements(record[0]), (count, *record[1])
    if (array.dtype, array.shape) != (dtype, shape):
        raise ValueError(
            f"out[{name!r}] is {array.dtype} of shape {array.shape}; expected {dtype} of shape {shape}"
        )
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"out[{name!r}]: expected a writable array in C order without gaps")
    return np.asarray(array).reshape(-1).view(np.uint8)
