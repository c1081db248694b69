"""What is measured: samples whose every byte follows from their number, so that deliveries can be checked."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks import stamp
from benchmarks.content import Content, noise

LEVEL = 3
"""Of zstd, everywhere: the only one that every system with zstd has."""

DICTIONARY_BYTES, TRAINING_BYTES = 32 << 10, 4 << 20
_AT_ONCE = 64 << 10


@dataclass(frozen=True)
class Packed:
    """Samples one after another: sample i is `values[offsets[i]:offsets[i + 1]]`.

    With `shapes`, int64[samples, ndim], it has that shape; without, it is a vector.
    """

    values: npt.NDArray[np.generic]
    offsets: npt.NDArray[np.int64]
    shapes: npt.NDArray[np.int64] | None = None

    def __iter__(self) -> Iterator[npt.NDArray[np.generic]]:
        vectors = (self.values[start:end] for start, end in pairwise(self.offsets.tolist()))
        if self.shapes is None:
            return vectors
        return (vector.reshape(shape) for vector, shape in zip(vectors, self.shapes.tolist(), strict=True))


Joined: TypeAlias = npt.NDArray[np.generic] | Packed
"""Samples in one piece: stacked or packed."""

Batch: TypeAlias = Joined | list[npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Workload:
    """One field of `samples` samples, read in random batches.

    A dense sample has the fixed `shape`. A ragged one has its own, which `draw_shapes` draws for all of them,
    int64[samples, ndim], and is delivered in the `form` that the workload asks for: packed with the others,
    or as an array in a list. The first eight bytes of a sample are its number (see `benchmarks.stamp`); the
    rest is cut from `content`, chosen by the number.
    """

    name: str
    title: str
    dtype: str
    samples: int
    batch: int
    shape: tuple[int, ...] = ()
    draw_shapes: Callable[[np.random.Generator, int], npt.NDArray[np.int64]] | None = None
    content: Callable[[], Content] = noise
    codec: Literal["raw", "zstd", "zstd-dict"] = "raw"
    form: Literal["packed", "list"] = "packed"
    smoke_samples: int = 512

    def shrunk(self) -> "Workload":
        """The same with so few samples that a run takes a moment: its figures mean nothing."""
        return replace(self, samples=self.smoke_samples, batch=min(self.batch, 64))

    @property
    def stored(self) -> str:
        """The name of what is stored: the same in whatever form it is read."""
        return f"{self.name.removesuffix('-list')}-{self.samples}"

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
        """Whether samples differ in shape."""
        return self.draw_shapes is not None

    @property
    def ndim(self) -> int:
        """Of a sample."""
        return self.shapes.shape[1] if self.ragged else len(self.shape)

    @cached_property
    def shapes(self) -> npt.NDArray[np.int64]:
        """Of every sample: int64[samples, ndim]."""
        if self.draw_shapes is None:
            return np.broadcast_to(np.array(self.shape, np.int64), (self.samples, len(self.shape)))
        return self.draw_shapes(np.random.default_rng(0), self.samples)

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each sample begins, in elements; int64[samples + 1]."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.shapes.prod(axis=1))])

    @cached_property
    def dictionary(self) -> bytes:
        """A zstd dictionary of 32 KiB, trained on the first 4 MiB; the same for every system."""
        from zstandard import train_dictionary

        count = self.count(TRAINING_BYTES)
        records: list[bytes | bytearray | memoryview[int]] = []
        records += (self.sample(number).tobytes() for number in range(min(count, self.samples)))
        return train_dictionary(DICTIONARY_BYTES, records).as_bytes()

    def __getstate__(self) -> dict[str, object]:
        # What is made once in a process does not travel to another.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _cuts(self) -> Content:
        return self.content()

    def sample(self, number: int) -> npt.NDArray[np.generic]:
        """One sample, as every system has to deliver it."""
        dtype = np.dtype(self.dtype)
        shape = tuple(self.shapes[number].tolist()) if self.ragged else self.shape
        size = int(self.offsets[number + 1] - self.offsets[number]) * dtype.itemsize
        cut = self._cuts.cut(number, shape, size)
        cut[: stamp.BYTES] = stamp.stamp(np.array([number]), dtype)[0]
        return cut.view(dtype).reshape(shape)

    def all(self) -> Iterator[npt.NDArray[np.generic]]:
        """All samples in order."""
        # By some at once, which is much faster where they are small.
        return chain.from_iterable(self.batches(_AT_ONCE))

    def batches(self, bytes_at_once: int) -> Iterator[Joined]:
        """All samples in order, in batches of about `bytes_at_once`."""
        step = self.count(bytes_at_once)
        for first in range(0, self.samples, step):
            yield self._batch(first, min(first + step, self.samples))

    def _batch(self, first: int, last: int) -> Joined:
        dtype = np.dtype(self.dtype)
        if self.ragged:
            values = np.concatenate([self.sample(number).reshape(-1) for number in range(first, last)])
            ends = self.offsets[first : last + 1]
            return Packed(values, ends - ends[0], self.shapes[first:last] if self.ndim > 1 else None)
        numbers = np.arange(first, last, dtype=np.int64)
        size = int(self.offsets[1]) * dtype.itemsize
        cuts = self._cuts.cut_many(numbers, self.shape, size)
        cuts[:, : stamp.BYTES] = stamp.stamp(numbers, dtype)
        return cuts.view(dtype).reshape(-1, *self.shape)

    @property
    def bytes(self) -> int:
        """The payload of all samples."""
        return int(self.offsets[-1]) * np.dtype(self.dtype).itemsize

    def count(self, bytes_at_once: int) -> int:
        """How many samples have about so many bytes, one at least."""
        return max(1, bytes_at_once * self.samples // self.bytes)

    def check(self, delivered: Batch) -> Sequence[int]:
        """Compare what was delivered with what was written, every byte, and return the samples' numbers.

        Raises:
            ValueError: A delivered sample is not the one that its first eight bytes name.
        """
        numbers = []
        for sample in delivered:
            number = stamp.number(sample)
            # Bytes, not values: random float32 has NaNs, and the last bit counts.
            if not 0 <= number < self.samples or _all(sample) != _all(self.sample(number)):
                raise ValueError(f"{self.name}: what was delivered as sample {number} is not that sample")
            numbers.append(number)
        return numbers


def elements(batches: Iterable[Joined]) -> npt.NDArray[np.generic]:
    """Those of all samples of these batches, one sample after another."""
    return np.concatenate([each.values if isinstance(each, Packed) else each.reshape(-1) for each in batches])


def _all(sample: npt.NDArray[np.generic]) -> tuple[str, tuple[int, ...], bytes]:
    return sample.dtype.name, sample.shape, sample.tobytes()
