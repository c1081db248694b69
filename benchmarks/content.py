"""What samples are made of: a pool of bytes for each kind of data, from which every sample is a slice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_CROPS, _CROP = 512, 128


@dataclass(frozen=True)
class Content:
    """Bytes to slice samples from; each begins at a multiple of `grain`."""

    pool: npt.NDArray[np.uint8]
    grain: int


Maker: TypeAlias = Callable[[], Content]


def noise(size: int = 1 << 26) -> Content:
    """Incompressible; `size` bytes."""
    return Content(np.frombuffer(np.random.default_rng(1).bytes(size), np.uint8), 1)


def phrases() -> Content:
    """Tokens as uint16, like tokenised text: 2 to 8 a phrase, both of Zipf frequency."""
    rng = np.random.default_rng(3)
    vocabulary, phrasebook, count = 50_000, 100_000, 1 << 20
    tokens = np.minimum(rng.zipf(1.15, count), vocabulary).astype(np.uint16)
    tokens = rng.permutation(1 << 16).astype(np.uint16)[tokens]
    sizes, places = rng.integers(2, 9, phrasebook), rng.integers(0, count - 9, phrasebook)
    chosen = np.minimum(rng.zipf(1.2, count) - 1, phrasebook - 1)
    each = sizes[chosen]
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(each)[:-1]])
    text = tokens[np.repeat(places[chosen] - begins, each) + np.arange(each.sum())]
    return Content(text.view(np.uint8), text.itemsize)


def photographs() -> Content:
    """Crops of 128 x 128 pixels, uint8 RGB, from the photographs in scikit-image's wheel."""
    from skimage import data

    names = (
        "astronaut",
        "chelsea",
        "coffee",
        "rocket",
        "hubble_deep_field",
        "immunohistochemistry",
        "retina",
    )
    photos = [getattr(data, name)() for name in names]
    rng = np.random.default_rng(4)
    crops = np.empty((_CROPS, _CROP, _CROP, 3), np.uint8)
    for number, crop in enumerate(crops):
        photo = photos[number % len(photos)]
        top, left = (int(rng.integers(0, length - _CROP)) for length in photo.shape[:2])
        crop[:] = photo[top : top + _CROP, left : left + _CROP]
    return Content(crops.reshape(-1), crops[0].nbytes)
