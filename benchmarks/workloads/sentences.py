"""Short token sequences that compress like text, 16 to 512 each: what a dictionary is for."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmarks.content import phrases
from benchmarks.workload import Workload


def _lengths(rng: np.random.Generator, count: int) -> npt.NDArray[np.generic]:
    return rng.integers(16, 513, count)


RAW = Workload(
    "sentences",
    "ragged tokens like text, uint16, 16 to 512",
    "uint16",
    200_000,
    256,
    lengths=_lengths,
    content=phrases,
)
ZSTD = replace(RAW, name="sentences-zstd", codec="zstd")
ZSTD_DICT = replace(RAW, name="sentences-zstd-dict", codec="zstd-dict")
