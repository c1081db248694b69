"""Token sequences of their own length each: median 403, mean about 550."""

import numpy as np
import numpy.typing as npt

from benchmarks.workload import Workload


def _lengths(rng: np.random.Generator, count: int) -> npt.NDArray[np.generic]:
    return np.clip(rng.lognormal(6.0, 0.8, count), 8, 8192)


WORKLOAD = Workload("tokens", "ragged tokens, uint16", "uint16", 200_000, 256, lengths=_lengths)
