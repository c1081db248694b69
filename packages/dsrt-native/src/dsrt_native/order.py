"""The orders: which row stands at which position of the endless stream."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrt_native import _native
from dsrt_native.arguments import whole, word
from dsrt_native.columns import weights_of

__all__ = ["ORDERS", "Sampler", "rows"]

ORDERS = ("sequential", "uniform", "weighted", "permuted")

_END = 2**64


class Sampler:
    """An order made ready, for those who want rows without a loader. Any thread may use it.

    Args:
        order: One of `ORDERS`.
        n: The number of rows, 1 to 2^62.
        seed: 0 to 2^64-1.
        weights: For ``"weighted"`` and only there: float64 ``[n]``, finite, >= 0, at least one > 0. They are
            prepared once, into 9 bytes a row.

    Raises:
        ValueError: An argument is out of range, or weights cannot be drawn by; the message names the row.
        SchemaError: There are not as many weights as rows.
    """

    __slots__ = ("_native",)

    def __init__(self, order: str, n: int, seed: int, weights: ArrayLike | None = None) -> None:
        if word("order", order, ORDERS) is None:
            raise TypeError("order: expected a word, not None")
        if (order == "weighted") != (weights is not None):
            raise ValueError(f"order {order!r}: weights belong to the order 'weighted', and to no other")
        self._native = _native.Sampler(
            order,
            whole("n", n, 1, 2**62),
            whole("seed", seed, 0, 2**64 - 1),
            None if weights is None else weights_of(weights),
        )

    def rows(self, start: int, count: int) -> NDArray[np.int64]:
        """Return the rows at positions `start` .. `start + count - 1`, as `dsrt_format.reference.rows` does.

        Args:
            start: The first position; all positions are below 2^64.
            count: How many positions, from 0.

        Returns:
            int64 ``[count]``, each 0 .. n-1.

        Raises:
            ValueError: An argument is out of range.
            MemoryError: So many do not fit.
        """
        # What is plain takes as long to check by name as to draw.
        if not (type(start) is type(count) is int and 0 <= start < _END and 0 <= count <= _END - start):
            start = whole("start", start, 0, _END - 1)
            count = whole("count", count, 0, _END - start)
        try:
            out = np.empty(count, np.int64)
        except (MemoryError, ValueError):  # the latter where no address space is so large
            raise MemoryError(f"{count} rows do not fit into memory") from None
        self._native.fill(start, out)
        return out


def rows(
    order: str, n: int, seed: int, start: int, count: int, weights: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Return the rows at positions `start` .. `start + count - 1`: a `Sampler` that is used once."""
    return Sampler(order, n, seed, weights).rows(start, count)
