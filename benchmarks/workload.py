"""What is measured: samples whose every byte follows from their number, so that deliveries can be checked."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.content import Content, Maker, noise

LEVEL = 3
"""Of zstd, everywhere: the only one that every system with zstd has."""

DICTIONARY_BYTES, TRAINING_BYTES = 32 << 10, 4 << 20
_STRIDE = 2_654_435_761  # Knuth's multiplicative hash: neighbours get content from far apart


@dataclass(frozen=True)
class Packed:
    """Samples one after another: sample i is `values[offsets[i]:offsets[i + 1]]`."""

    values: npt.NDArray[np.generic]
    offsets: npt.NDArray[np.int64]

    def __iter__(self) -> Iterator[npt.NDArray[np.generic]]:
        ends = self.offsets.tolist()
        return (self.values[start:end] for start, end in pairwise(ends))


Batch: TypeAlias = npt.NDArray[np.generic] | Packed | list[npt.NDArray[np.generic]]


def _all(sample: npt.NDArray[np.generic]) -> tuple[str, tuple[int, ...], bytes]:
    return sample.dtype.name, sample.shape, sample.tobytes()


@dataclass(frozen=True)
class Workload:
    """One field of `samples` samples, read in random batches.

    A dense sample has the fixed `shape`. A ragged one is a vector; `lengths` draws their numbers of elements.
    The first eight bytes of a sample are its number, little-endian; the rest is `content`, chosen by the
    number.
    """

    name: str
    title: str
    dtype: str
    samples: int
    batch: int
    shape: tuple[int, ...] = ()
    lengths: Callable[[np.random.Generator, int], npt.NDArray[np.generic]] | None = None
    content: Maker = noise
    codec: Literal["raw", "zstd", "zstd-dict"] = "raw"
    smoke_samples: int = 512

    def shrunk(self) -> "Workload":
        """The same with so few samples that a run takes a moment: its figures mean nothing."""
        return replace(self, samples=self.smoke_samples, batch=min(self.batch, 64))

    @property
    def heading(self) -> str:
        """For a report."""
        return f"{self.title}, {self.codec}: {self.samples:,} samples, {self.bytes / 2**20:,.0f} MiB"

    @property
    def batch_bytes(self) -> int:
        """Of a batch to write: 4 MiB to store as they are, 64 MiB to compress.

        Either is loaderx's best, which waits for each batch to be written; DSRT does not mind.
        """
        return 4 << 20 if self.codec == "raw" else 64 << 20

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
            sizes = self.lengths(np.random.default_rng(0), self.samples).astype(np.int64)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])

    @cached_property
    def _content(self) -> Content:
        return self.content()

    @cached_property
    def dictionary(self) -> bytes:
        """A zstd dictionary of 32 KiB, trained on the first 4 MiB; the same for every system."""
        from zstandard import train_dictionary

        count = max(1, int(TRAINING_BYTES / self.bytes * self.samples))
        records: list[bytes | bytearray | memoryview[int]] = []
        records += (self.sample(number).tobytes() for number in range(min(count, self.samples)))
        return train_dictionary(DICTIONARY_BYTES, records).as_bytes()

    def sample(self, number: int) -> npt.NDArray[np.generic]:
        """One sample, as every system has to deliver it."""
        dtype, pool, grain = np.dtype(self.dtype), self._content.pool, self._content.grain
        size = int(self.offsets[number + 1] - self.offsets[number]) * dtype.itemsize
        start = number * _STRIDE % (len(pool) - size) // grain * grain
        content = pool[start : start + size].copy()
        content[:8] = np.frombuffer(number.to_bytes(8, "little"), np.uint8)
        flat = content.view(dtype)
        return flat if self.ragged else flat.reshape(self.shape)

    def all(self) -> Iterator[npt.NDArray[np.generic]]:
        """All samples in order."""
        return map(self.sample, range(self.samples))

    def batches(self, bytes_at_once: int) -> Iterator[Batch]:
        """All samples in order, in batches of about `bytes_at_once`."""
        step = max(1, int(bytes_at_once / self.bytes * self.samples))
        for first in range(0, self.samples, step):
            last = min(first + step, self.samples)
            samples = [self.sample(number) for number in range(first, last)]
            if self.ragged:
                ends = self.offsets[first : last + 1]
                yield Packed(np.concatenate(samples), ends - ends[0])
            else:
                yield np.stack(samples)

    @property
    def bytes(self) -> int:
        """The payload of all samples."""
        return int(self.offsets[-1]) * np.dtype(self.dtype).itemsize

    def check(self, delivered: Batch) -> list[int]:
        """Compare what was delivered with what was written, every byte, and return the samples' numbers.

        Raises:
            ValueError: A delivered sample is not the one that its first eight bytes name.
        """
        samples = list(delivered)
        numbers = [int.from_bytes(sample.tobytes()[:8], "little") for sample in samples]
        for number, sample in zip(numbers, samples, strict=True):
            # Bytes, not values: random float32 has NaNs, and the last bit counts.
            if number >= self.samples or _all(sample) != _all(self.sample(number)):
                raise ValueError(f"{self.name}: what was delivered as sample {number} is not that sample")
        return numbers
