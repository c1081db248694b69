"""What a reader returns for many samples: a plain dict of arrays, ragged values and lists of strings."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dsrt_format.dtypes import numpy_dtype
from dsrt_native import _native
from dsrt_native.arguments import fill_of, lengths_of

__all__ = ["Batch", "RaggedArray", "arrays", "elements"]

Batch: TypeAlias = dict[str, Any]
"""Per name an array (dense fields, numeric and temporal columns), a `RaggedArray`, or a list of str, bytes or
None (text, bytes and string columns)."""


class RaggedArray(NamedTuple):
    """The records of a ragged field, packed back to back. A tuple of three, *not* a sequence of records.

    A plain NamedTuple, so that it is a pytree and passes through any collation.

    Attributes:
        values: All elements on one axis, of the dtype stored or asked for; record i is
            ``values[offsets[i]:offsets[i + 1]]``.
        offsets: int64, samples + 1 places, counted in elements, from 0.
        shapes: int64, ``[samples, ndim]``; None where records have one axis, whose length offsets tell.
    """

    values: NDArray[Any]
    offsets: NDArray[np.int64]
    shapes: NDArray[np.int64] | None = None

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of elements of each record: int64, ``[samples]``."""
        return self.offsets[1:] - self.offsets[:-1]

    def to_list(self) -> list[NDArray[Any]]:
        """Return the records, each an array of its own shape that views `values` without a copy."""
        places = self.offsets.tolist()
        records = [self.values[start:end] for start, end in pairwise(places)]
        if self.shapes is None:
            return records
        return [r.reshape(shape) for r, shape in zip(records, self.shapes.tolist(), strict=True)]

    def to_padded(
        self, fill: Any, length: SupportsIndex | Sequence[SupportsIndex] | None = None
    ) -> NDArray[Any]:
        """Return one array ``[samples, length, ...]`` with the records at the start of each row.

        Args:
            fill: What stands behind the records; of integers, one that their dtype holds.
            length: The length to pad to; one number per axis where records have several. The longest
                record's by default.

        Raises:
            TypeError: `length` is neither an integer nor several.
            ValueError: A record is longer than `length`, or `length` has another number of axes. Or the dtype
                cannot hold `fill`; ``fields=`` asks for a wider one.
        """
        fill = fill_of(fill, self.values.dtype.name)
        count = len(self.offsets) - 1
        shapes = self.lengths()[:, np.newaxis] if self.shapes is None else self.shapes
        longest = shapes.max(axis=0, initial=0)
        room = longest if length is None else np.array(lengths_of(length), np.int64)
        if room.shape != longest.shape:
            raise ValueError(f"length {length!r} is for {room.size} axes; these records have {longest.size}")
        if (shapes > room).any():
            first = int((shapes > room).any(axis=1).argmax())
            raise ValueError(
                f"record {first} of the batch has the shape {tuple(shapes[first].tolist())} and does not fit "
                f"into length {length!r}; the longest needs {tuple(longest.tolist())}"
            )
        padded = np.full((count, *room.tolist()), fill, self.values.dtype)
        if longest.size == 1:
            padded[np.arange(room[0]) < shapes] = self.values
        else:
            for row, record in zip(padded, self.to_list(), strict=True):
                row[tuple(slice(axis) for axis in record.shape)] = record
        return padded


def arrays(batch: _native.Batch) -> Batch:
    """Return the columns of a native batch as NumPy arrays over its memory, which they keep alive.

    Dense columns are C-order arrays ``[samples, ...]``, writable. Dates are ``datetime64[D]``, timestamps
    ``datetime64`` and durations ``timedelta64`` of the column's unit (UTC where the column has a zone).

    Raises:
        ImportError: A column is bfloat16 or float8 and ml_dtypes is not installed.
    """
    memory = memoryview(batch)
    return {name: _column(batch, memory, place, layout) for place, (name, layout) in enumerate(batch.columns)}


@cache
def elements(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a dense column's elements."""
    return np.dtype(name) if name.startswith(("datetime64", "timedelta64")) else numpy_dtype(name)


def _column(batch: _native.Batch, memory: memoryview, place: int, layout: tuple[Any, ...]) -> Any:
    match layout:
        case ("dense", element, shape, at):
            return np.ndarray(shape, elements(element), memory, at)
        case ("ragged", dtype, ndim, values, count, offsets, shapes):
            samples = len(batch)
            return RaggedArray(
                np.ndarray((count,), elements(dtype), memory, values),
                np.ndarray((samples + 1,), np.int64, memory, offsets),
                None if shapes is None else np.ndarray((samples, ndim), np.int64, memory, shapes),
            )
        case _:
            return batch.strings(place)
