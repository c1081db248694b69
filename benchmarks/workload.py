"""What is measured: samples whose every byte follows from their number, so that deliveries can be checked."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

_POOL_BYTES = 1 << 26
_STRIDE = 2_654_435_761  # Knuth's multiplicative hash: neighbours get content from far apart


@dataclass(frozen=True)
class Packed:
    """Samples one after another: sample i is `values[offsets[i]:offsets[i + 1]]`."""

    values: npt.NDArray[np.generic]
    offsets: npt.NDArray[np.int64]


def _all(sample: npt.NDArray[np.generic]) -> tuple[str, tuple[int, ...], bytes]:
    return sample.dtype.name, sample.shape, sample.tobytes()


@dataclass(frozen=True)
class Workload:
    """One field of `samples` samples, read in random batches.

    A dense sample has the fixed `shape`. A ragged one is a vector; `lengths` are the log-normal parameters of
    its number of elements. The first eight bytes of a sample are its number, little-endian; the rest is
    incompressible and chosen by the number.
    """

    name: str
    title: str
    dtype: str
    samples: int
    batch: int
    shape: tuple[int, ...] = ()
    lengths: tuple[float, float] | None = None
    smoke_samples: int = 512

    def shrunk(self) -> "Workload":
        """The same with so few samples that a run takes a moment: its figures mean nothing."""
        return replace(self, samples=self.smoke_samples, batch=min(self.batch, 64))

    @property
    def ragged(self) -> bool:
        """Whether samples differ in length."""
        return self.lengths is not None

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each sample begins, in elements; int64[samples + 1]."""
        if self.lengths is None:
            sizes = np.full(self.samples, np.prod(self.shape, dtype=np.int64))
        else:
            rng = np.random.default_rng(0)
            sizes = np.clip(rng.lognormal(*self.lengths, self.samples), 8, 8192).astype(np.int64)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])

    @cached_property
    def _pool(self) -> npt.NDArray[np.uint8]:
        return np.frombuffer(np.random.default_rng(1).bytes(_POOL_BYTES), np.uint8)

    def sample(self, number: int) -> npt.NDArray[np.generic]:
        """One sample, as every system has to deliver it."""
        dtype = np.dtype(self.dtype)
        size = int(self.offsets[number + 1] - self.offsets[number]) * dtype.itemsize
        start = number * _STRIDE % (_POOL_BYTES - size)
        content = self._pool[start : start + size].copy()
        content[:8] = np.frombuffer(number.to_bytes(8, "little"), np.uint8)
        flat = content.view(dtype)
        return flat if self.ragged else flat.reshape(self.shape)

    def chunks(self, bytes_at_once: int = 1 << 26) -> Iterator[list[npt.NDArray[np.generic]]]:
        """All samples in order, in lists of about `bytes_at_once`."""
        each = max(1, int(self.bytes / self.samples))
        step = max(1, bytes_at_once // each)
        for first in range(0, self.samples, step):
            yield [self.sample(number) for number in range(first, min(first + step, self.samples))]

    @property
    def bytes(self) -> int:
        """The payload of all samples."""
        return int(self.offsets[-1]) * np.dtype(self.dtype).itemsize

    def check(self, delivered: npt.NDArray[np.generic] | Packed) -> list[int]:
        """Compare what was delivered with what was written, every byte, and return the samples' numbers.

        Raises:
            ValueError: A delivered sample is not the one that its first eight bytes name.
        """
        if isinstance(delivered, Packed):
            ends = delivered.offsets
            samples = [delivered.values[ends[i] : ends[i + 1]] for i in range(len(ends) - 1)]
        else:
            samples = list(delivered)
        numbers = [int.from_bytes(sample.tobytes()[:8], "little") for sample in samples]
        for number, sample in zip(numbers, samples, strict=True):
            # Bytes, not values: random float32 has NaNs, and the last bit counts.
            if number >= self.samples or _all(sample) != _all(self.sample(number)):
                raise ValueError(f"{self.name}: what was delivered as sample {number} is not that sample")
        return numbers
