"""The orders: which row stands at which position of the endless stream."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrt_native import _native
from dsrt_native.arguments import whole, word
from dsrt_native.columns import weights_of

__all__ = ["ORDERS", "rows"]

ORDERS = ("sequential", "uniform", "weighted", "permuted")


def rows(
    order: str, n: int, seed: int, start: int, count: int, weights: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Return the rows at positions `start` .. `start + count - 1`, as `dsrt_format.reference.rows` does.

    Args:
        order: One of `ORDERS`.
        n: The number of rows, 1 to 2^62.
        seed: 0 to 2^64-1.
        start: The first position; all positions are below 2^64.
        count: How many positions, from 0.
        weights: For ``"weighted"`` and only there: float64 ``[n]``, finite, >= 0, at least one > 0.

    Returns:
        int64 ``[count]``, each 0 .. n-1.

    Raises:
        ValueError: An argument is out of range, or weights cannot be drawn by; the message names the row.
    """
    if word("order", order, ORDERS) is None:
        raise TypeError("order: expected a word, not None")
    if (order == "weighted") != (weights is not None):
        raise ValueError(f"order {order!r}: weights belong to the order 'weighted', and to no other")
    first = whole("start", start, 0, 2**64 - 1)
    view = _native.order_rows(
        order,
        whole("n", n, 1, 2**62),
        whole("seed", seed, 0, 2**64 - 1),
        first,
        whole("count", count, 0, 2**64 - first),
        None if weights is None else weights_of(weights),
    )
    return np.frombuffer(view, np.int64).copy()
