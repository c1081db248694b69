"""The four orders: which row of a population stands at which position of the endless stream.

Exact integer arithmetic, position by position; every faster implementation must agree to the bit. `seed` is
an unsigned 64-bit integer and positions are absolute over all ranks.
"""

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import SupportsIndex

__all__ = ["augment_seed", "permuted_row", "philox4x32_10", "rows", "weight_table"]

_UNIFORM = 0x554E4946
_WEIGHTED = 0x57474854
_PERMUTED = 0x5045524D
_AUGMENT = 0x4155474D

_MASK32 = 2**32 - 1
_MAX_ROWS = 2**62

Words = tuple[int, int, int, int]


def rows(
    order: str,
    n: SupportsIndex,
    seed: SupportsIndex,
    start: SupportsIndex,
    count: SupportsIndex,
    weights: Sequence[float] | None = None,
) -> list[int]:
    """Return the rows at positions `start` .. `start + count - 1`.

    Args:
        order: ``"sequential"``, ``"uniform"``, ``"weighted"`` or ``"permuted"``.
        n: The number of rows, 1 to 2^62.
        seed: 0 to 2^64-1. Sequential does not depend on it.
        start: The first position, from 0; all positions are below 2^64.
        count: How many positions, from 0.
        weights: For ``"weighted"`` and only there: `n` finite floats >= 0, at least one > 0. A row of
            weight 0 is never drawn.

    Returns:
        `count` row numbers in 0 .. n-1.

    Raises:
        ValueError: An argument out of range, or weights that cannot be drawn by; the message names the row.
        TypeError: An argument is no integer.
    """
    n = integer("n", n)
    seed, start, count = _stream(seed, start, count)
    if not 1 <= n <= _MAX_ROWS:
        raise ValueError(f"n is {n}; an order needs 1 to 2^62 rows")
    if (order == "weighted") != (weights is not None):
        with_or_without = "without" if weights is None else "with"
        raise ValueError(f"order {order!r} {with_or_without} weights: they belong to the order 'weighted'")
    row: Callable[[int], int]
    if order == "sequential":

        def row(position: int) -> int:
            return position % n
    elif order == "uniform":

        def row(position: int) -> int:
            return _draw64(seed, _UNIFORM, position) * n >> 64
    elif order == "weighted":
        assert weights is not None
        if len(weights) != n:
            raise ValueError(f"{len(weights)} weights for {n} rows")
        sums = list(accumulate(weight_table(weights), initial=0))

        def row(position: int) -> int:
            return bisect_right(sums, _draw64(seed, _WEIGHTED, position) * sums[-1] >> 64) - 1
    elif order == "permuted":

        def row(position: int) -> int:
            return permuted_row(seed, n, *divmod(position, n))
    else:
        raise ValueError(f"order {order!r}: expected 'sequential', 'uniform', 'weighted' or 'permuted'")
    return [row(position) for position in range(start, start + count)]


def augment_seed(seed: SupportsIndex, start: SupportsIndex, count: SupportsIndex) -> list[int]:
    """Return the seeds for random augmentation at positions `start` .. `start + count - 1` of every order.

    Args:
        seed: 0 to 2^64-1.
        start: The first position, from 0; all positions are below 2^64.
        count: How many positions, from 0.

    Returns:
        `count` integers in 0 .. 2^64-1.

    Raises:
        ValueError: An argument out of range.
        TypeError: An argument is no integer.
    """
    seed, start, count = _stream(seed, start, count)
    words = [_block(seed, _AUGMENT, 0, position) for position in range(start, start + count)]
    return [w[2] | w[3] << 32 for w in words]


def weight_table(weights: Sequence[float]) -> list[int]:
    """Return weights as the integers that draws are made by: W of the specification.

    The largest scale is chosen at which the sum surely stays below 2^63. A weight > 0 becomes at least 1.

    Args:
        weights: Finite floats >= 0, at least one > 0.

    Raises:
        ValueError: Weights that cannot be drawn by; the message names the row.
    """
    for row, weight in enumerate(weights):
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"weight {weight!r} of row {row}: weights are finite and >= 0")
    greatest = max(weights, default=0.0)
    if greatest == 0:
        raise ValueError(f"none of the {len(weights)} weights is > 0; there is nothing to draw")
    n = len(weights)
    scale = 62 - (n - 1).bit_length() - math.frexp(greatest)[1]
    total = sum(_scaled(weight, scale)[0] for weight in weights)
    spare = 0
    while (total + n) << (spare + 1) <= 2**63:
        spare += 1
    return [_rounded(weight, scale + spare) for weight in weights]


def philox4x32_10(counter: Words, key: tuple[int, int]) -> Words:
    """Return the block of Philox4x32 with 10 rounds.

    Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.

    Args:
        counter: Four 32-bit words.
        key: Two 32-bit words.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        a, b = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = b >> 32 ^ c1 ^ k0, b & _MASK32, a >> 32 ^ c3 ^ k1, a & _MASK32
        k0, k1 = k0 + 0x9E3779B9 & _MASK32, k1 + 0xBB67AE85 & _MASK32
    return c0, c1, c2, c3


def permuted_row(seed: int, n: int, epoch: int, slot: int) -> int:
    """Return the row at `slot` of an epoch of the permuted order.

    A Feistel network of 8 rounds over mixed radices a x b >= n, walked until it lands below n.

    Args:
        seed: 0 to 2^64-1.
        n: The number of rows, 1 to 2^62.
        epoch: The number of the permutation, from 0; its low 32 bits count.
        slot: The place in the permutation, 0 to n-1.
    """
    stream = epoch & _MASK32
    domain = max(n, 256)
    a = math.isqrt(domain - 1) + 1
    b = -(-domain // a)
    keys = _block(seed, _PERMUTED, stream, 0) + _block(seed, _PERMUTED, stream, 1)
    x = slot
    while True:
        left, right = divmod(x, b)
        for i in range(0, 8, 2):
            left = (left + (_mix32(right ^ keys[i]) * a >> 32)) % a
            right = (right + (_mix32(left ^ keys[i + 1]) * b >> 32)) % b
        x = left * b + right
        if x < n:
            return x


def integer(name: str, value: SupportsIndex) -> int:
    """Return an argument as Python's own integer: those of NumPy wrap around where this arithmetic must not.

    Raises:
        TypeError: It is no integer.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r:.80}; an integer was expected") from None


def _stream(seed: SupportsIndex, start: SupportsIndex, count: SupportsIndex) -> tuple[int, int, int]:
    seed, start, count = integer("seed", seed), integer("start", start), integer("count", count)
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}; seeds are 0 to 2^64-1")
    if start < 0 or count < 0 or start + count > 2**64:
        raise ValueError(f"start {start} and count {count}: positions are 0 to 2^64-1")
    return seed, start, count


def _block(seed: int, tag: int, stream: int, k: int) -> Words:
    return philox4x32_10((k & _MASK32, k >> 32, stream, tag), (seed & _MASK32, seed >> 32))


def _draw64(seed: int, tag: int, k: int) -> int:
    w0, w1, _, _ = _block(seed, tag, 0, k)
    return w0 | w1 << 32


def _scaled(weight: float, scale: int) -> tuple[int, int, int]:
    """Return weight x 2^scale as floor, remainder and divisor, exactly."""
    numerator, denominator = weight.as_integer_ratio()
    if scale >= 0:
        numerator <<= scale
    else:
        denominator <<= -scale
    return *divmod(numerator, denominator), denominator


def _rounded(weight: float, scale: int) -> int:
    if weight == 0:
        return 0
    floor, remainder, divisor = _scaled(weight, scale)
    half_even = 2 * remainder > divisor or (2 * remainder == divisor and floor % 2 == 1)
    return max(1, floor + half_even)


def _mix32(x: int) -> int:
    """Return a mixture of 32 bits; constants by Chris Wellons, "Prospecting for hash functions"."""
    x ^= x >> 16
    x = x * 0x7FEB352D & _MASK32
    x ^= x >> 15
    x = x * 0x846CA68B & _MASK32
    return x ^ x >> 16
