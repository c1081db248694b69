"""Values by their bits: what is at the ends of each dtype, as arrays of any dtype of that size."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.rules.forge import ITEMSIZES, Field
from tests.rules.goods import fill

Array = np.ndarray[Any, np.dtype[Any]]

# +0, -0, 1, both infinities, quiet and signalling NaNs with payloads, the largest, the smallest, one below 0.
FLOATS = {
    "float16": (0, 0x8000, 0x3C00, 0x7C00, 0xFC00, 0x7E01, 0x7D55, 0xFFFF, 0x7BFF, 1, 0xC000),
    "bfloat16": (0, 0x8000, 0x3F80, 0x7F80, 0xFF80, 0x7FC1, 0x7FA5, 0xFFFF, 0x7F7F, 1, 0xC000),
    "float32": (
        *(0, 0x80000000, 0x3F800000, 0x7F800000, 0xFF800000),
        *(0x7FC00001, 0x7FA00055, 0xFFFFFFFF, 0x7F7FFFFF, 1, 0xC0000000),
    ),
    "float64": (
        *(0, 1 << 63, 0x3FF << 52, 0x7FF << 52, 0xFFF << 52),
        *((0x7FF8 << 48) + 1, (0x7FF4 << 48) + 0x55, (1 << 64) - 1, (0x7FF << 52) - 1, 1, 0xC00 << 52),
    ),
    "float8_e4m3fn": (0, 0x80, 0x38, 0x7F, 0xFF, 0x7E, 0xFE, 1, 8),
    "float8_e5m2": (0, 0x80, 0x3C, 0x7C, 0xFC, 0x7D, 0xFF, 0x7B, 1),
}


def corners(dtype: str) -> Array:
    """One axis of the values at the ends of a dtype."""
    size = ITEMSIZES[dtype]
    if dtype == "bool":
        return np.array([0, 1, 1, 0, 1], "u1")
    if dtype in FLOATS:
        return np.array(FLOATS[dtype], f"<u{size}")
    if dtype.startswith("complex"):
        parts = corners(f"float{size * 4}")
        return np.stack([parts, parts[::-1]], axis=1).reshape(-1).view(f"<c{size}")
    top = 1 << (size * 8 - 1)
    return np.array([0, 1, top - 1, top, 2 * top - 1, 7], f"<u{size}")


def rolled(dtype: str, samples: int) -> list[Array]:
    """The same for several samples, each in another order."""
    return [np.roll(corners(dtype), -sample) for sample in range(samples)]


def ragged(dtype: str, ndim: int) -> list[Array]:
    """Records of other shapes: none, one, all of the corners, and some in a block."""
    values = corners(dtype)
    wide = np.resize(values, 6)
    shapes = {1: (6,), 2: (2, 3), 3: (1, 3, 2)}
    return [
        values[:0].reshape((0,) + (2,) * (ndim - 1)),
        values[1:2].reshape((1,) * ndim),
        values.reshape((values.size,) + (1,) * (ndim - 1)),
        wide.reshape(shapes[ndim]),
    ]


def filled(item: Field, values: list[Any], counts: tuple[int, ...] | None = None) -> Field:
    """A field with these values, in one shard if nothing else is said."""
    return fill(item, values, list(counts) if counts else [len(values)])
