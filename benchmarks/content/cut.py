"""How a sample is cut out of prepared content; its number says where."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

_STRIDE = 2_654_435_761  # Knuth's multiplicative hash: neighbours get content from far apart


class Content(Protocol):
    """What samples are cut from."""

    def cut(self, number: int, shape: tuple[int, ...], size: int) -> npt.NDArray[np.uint8]:
        """The bytes of one sample of that shape, uint8[size], a copy that the caller may write to."""

    def cut_many(
        self, numbers: npt.NDArray[np.int64], shape: tuple[int, ...], size: int
    ) -> npt.NDArray[np.uint8]:
        """Those of several samples of one shape, uint8[len(numbers), size]."""


class Slices:
    """Samples are slices of `pool`; each begins at a multiple of `grain` bytes."""

    def __init__(self, pool: npt.NDArray[np.uint8], grain: int) -> None:
        self.pool, self.grain = pool, grain

    def cut(self, number: int, shape: tuple[int, ...], size: int) -> npt.NDArray[np.uint8]:
        """A slice of so many bytes."""
        start = number * _STRIDE % (len(self.pool) - size) // self.grain * self.grain
        return np.array(self.pool[start : start + size])

    def cut_many(
        self, numbers: npt.NDArray[np.int64], shape: tuple[int, ...], size: int
    ) -> npt.NDArray[np.uint8]:
        """The same for many at once, so that ten million small samples do not take minutes to make."""
        starts = numbers * _STRIDE % (len(self.pool) - size) // self.grain * self.grain
        return np.lib.stride_tricks.sliding_window_view(self.pool, size)[starts]


class Crops:
    """Samples are crops of pictures, each of them uint8[height, width, 3]; the pictures take turns."""

    def __init__(self, pictures: Sequence[npt.NDArray[np.uint8]]) -> None:
        self.pictures = pictures

    def cut(self, number: int, shape: tuple[int, ...], size: int) -> npt.NDArray[np.uint8]:
        """A crop of `shape`, mirrored every other time."""
        turn, which = divmod(number, len(self.pictures))
        picture = self.pictures[which]
        rows, columns = picture.shape[0] - shape[0] + 1, picture.shape[1] - shape[1] + 1
        top, left = divmod(turn * _STRIDE % (rows * columns), columns)
        crop = picture[top : top + shape[0], left : left + shape[1]]
        return np.ascontiguousarray(crop[:, ::-1] if turn % 2 else crop).reshape(-1)

    def cut_many(
        self, numbers: npt.NDArray[np.int64], shape: tuple[int, ...], size: int
    ) -> npt.NDArray[np.uint8]:
        """One after another."""
        return np.stack([self.cut(number, shape, size) for number in numbers.tolist()])
