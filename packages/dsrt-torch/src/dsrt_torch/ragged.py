"""The packed records of a ragged field, in tensors."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, SupportsIndex

import torch
from torch import Tensor

from dsrt_native.arguments import fill_of, lengths_of

__all__ = ["RaggedArray"]

# Integers of each width, for moving the bits of dtypes that torch stores but hardly computes with.
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class RaggedArray(NamedTuple):
    """The records of a ragged field, packed back to back. A tuple of three, *not* a sequence of records.

    What `dsrt_native.RaggedArray` is for NumPy. It is a plain NamedTuple, so that whatever moves nested
    tensors between devices moves it. `torch.nested.nested_tensor_from_jagged(values, offsets)` takes records
    of one axis.

    Attributes:
        values: All elements on one axis, of the dtype stored or asked for; record i is
            ``values[offsets[i]:offsets[i + 1]]``.
        offsets: int64, samples + 1 places, counted in elements, from 0.
        shapes: int64, ``[samples, ndim]``; None where records have one axis, whose length offsets tell.
    """

    values: Tensor
    offsets: Tensor
    shapes: Tensor | None = None

    def lengths(self) -> Tensor:
        """Return the number of elements of each record: int64, ``[samples]``."""
        return self.offsets[1:] - self.offsets[:-1]

    def to_list(self) -> list[Tensor]:
        """Return the records, each a tensor of its own shape that views `values` without a copy."""
        records = [self.values[start:end] for start, end in pairwise(self.offsets.tolist())]
        if self.shapes is None:
            return records
        return [r.reshape(shape) for r, shape in zip(records, self.shapes.tolist(), strict=True)]

    def to_padded(
        self, fill: complex, length: SupportsIndex | Sequence[SupportsIndex] | None = None
    ) -> Tensor:
        """Return one tensor ``[samples, length, ...]`` with the records at the start of each row.

        Args:
            fill: What stands behind the records; of integers, one that their dtype holds: tokens stored as
                uint16 have no -100, those that come as int64 do.
            length: The length to pad to; one number per axis where records have several. The longest
                record's by default.

        Raises:
            TypeError: `length` is neither an integer nor several.
            ValueError: A record is longer than `length`, or `length` has another number of axes. Or the dtype
                cannot hold `fill`; ``fields=`` of the loader asks for a wider one.
        """
        fill = fill_of(fill, str(self.values.dtype).removeprefix("torch."))
        shapes = self.lengths()[:, None] if self.shapes is None else self.shapes
        count, axes = shapes.shape
        longest = shapes.amax(dim=0).tolist() if count else [0] * axes
        room = longest if length is None else lengths_of(length)
        if len(room) != axes:
            raise ValueError(f"length {length!r} is for {len(room)} axes; these records have {axes}")
        if any(needed > given for needed, given in zip(longest, room, strict=True)):
            raise ValueError(f"length {length!r}: the longest record of the batch needs {tuple(longest)}")
        filled = _bits(torch.tensor(fill, dtype=self.values.dtype))
        padded = torch.full((count, *room), filled.item(), dtype=filled.dtype, device=self.values.device)
        if axes == 1:
            padded[torch.arange(room[0], device=shapes.device) < shapes] = _bits(self.values)
        else:
            for row, record in zip(padded, self.to_list(), strict=True):
                row[tuple(slice(axis) for axis in record.shape)] = _bits(record)
        return padded.view(self.values.dtype)


def _bits(tensor: Tensor) -> Tensor:
    width = _BITS.get(tensor.element_size())
    return tensor if width is None else tensor.view(width)
