"""NumPy over one mapped file: no format, no checks, no threads. What the machine gives away for nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.workload import Packed, Workload


def write(workload: Workload, folder: Path) -> None:
    """All elements in one file."""
    with (folder / "values").open("wb") as file:
        for chunk in workload.chunks():
            for sample in chunk:
                file.write(sample.tobytes())


class Mapped:
    """The file, and where samples begin in it."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        shape = (int(workload.offsets[-1]),) if workload.ragged else (workload.samples, *workload.shape)
        self.ragged = workload.ragged
        self.samples = workload.samples
        self.offsets = workload.offsets
        self.values = np.memmap(folder / "values", workload.dtype, "r", shape=shape)

    def gather(self, numbers: npt.NDArray[np.int64]) -> Any:
        """One indexing of the map, or the slices of it joined."""
        if not self.ragged:
            return np.asarray(self.values[numbers])
        starts, ends = self.offsets[numbers].tolist(), self.offsets[numbers + 1].tolist()
        values = np.asarray(self.values)
        parts = [values[start:end] for start, end in zip(starts, ends, strict=True)]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(part) for part in parts])])
        return Packed(np.concatenate(parts), offsets)

    def batches(self, size: int) -> Iterator[Any]:
        """Permutations, one after another."""
        rng = np.random.default_rng(0)
        while True:
            order = rng.permutation(self.samples)
            for first in range(0, self.samples - size + 1, size):
                yield self.gather(order[first : first + size])

    def numpy(self, batch: Any) -> npt.NDArray[np.generic] | Packed:
        """It is that already."""
        packed: npt.NDArray[np.generic] | Packed = batch
        return packed


def opened(workload: Workload, folder: Path) -> Mapped:
    """Map the file."""
    return Mapped(workload, folder)
