"""Transforms that keep a CPU busy, as training has them; a worker process finds them by their names here."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from benchmarks.peer import Cannot
from benchmarks.stamp import BYTES
from benchmarks.workload import Batch

MASK = 1
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)

_FIRST = BYTES // 2  # tokens that hold the number of a sample, by which it is checked


def masked(batch: Batch) -> Batch:
    """Tokens with about one of eight masked, by a rolling hash in plain Python: many milliseconds a batch."""
    tokens = np.array(batch)
    for row in tokens:
        state, places = 0, []
        for place, token in enumerate(row.tolist()):
            state = (state * 1_103_515_245 + token + 12_345) & 0x7FFF_FFFF
            if state >> 28 == 0 and place >= _FIRST:
                places.append(place)
        row[places] = MASK
    return tokens


def normalised(batch: Batch) -> Batch:
    """Pictures as float32, channels first, by numba without the GIL.

    Raises:
        Cannot: There is no numba.
    """
    pictures = cast(npt.NDArray[np.uint8], batch)
    count, height, width, channels = pictures.shape
    result = np.empty((count, channels, height, width), np.float32)
    _compiled()(pictures, (1 / 255 / DEVIATION).astype(np.float32), MEAN / DEVIATION, result)
    return result


def _normalise(pictures: Any, scale: Any, shift: Any, result: Any) -> None:
    for i in range(pictures.shape[0]):
        for y in range(pictures.shape[1]):
            for x in range(pictures.shape[2]):
                for c in range(3):
                    result[i, c, y, x] = pictures[i, y, x, c] * scale[c] - shift[c]


@cache
def _compiled() -> Callable[..., None]:
    try:
        from numba import njit
    except ImportError as error:
        raise Cannot("numba is not installed") from error
    compiled: Callable[..., None] = njit(nogil=True, cache=True)(_normalise)
    return compiled


def pictures(batch: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """What `normalised` was given."""
    back = batch.transpose(0, 2, 3, 1) * DEVIATION + MEAN
    return np.asarray(np.rint(back * 255), np.uint8)
