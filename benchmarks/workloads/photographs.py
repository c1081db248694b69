"""Photographs: crops of one size, as vision models are trained on, and of sizes of their own."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmarks.content import photos
from benchmarks.workload import Workload

FIXED = Workload(
    "photographs",
    "photographs, 224 x 224 x 3 uint8",
    "uint8",
    3_000,
    256,
    shape=(224, 224, 3),
    content=photos,
    smoke_samples=256,
)
ZSTD = replace(FIXED, name="photographs-zstd", samples=1_500, codec="zstd")


def _sizes(rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    # Up to the size of the smallest picture.
    colours = np.full(count, 3)
    return np.stack([rng.integers(128, 301, count), rng.integers(128, 452, count), colours], axis=1)


NATIVE = Workload(
    "native",
    "photographs at native sizes, 128 to 300 x 128 to 451 x 3 uint8",
    "uint8",
    2_000,
    64,
    draw_shapes=_sizes,
    content=photos,
    smoke_samples=256,
)
