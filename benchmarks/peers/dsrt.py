"""DSRT: one cache of one raw field, its gather and its loader, with checksums verified on every read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.workload import Packed, Workload
from dsrt_format import Dense, Ragged
from dsrt_native import Cache, CacheWriter, Loader, Population, RaggedArray


def write(workload: Workload, folder: Path) -> None:
    """One cache."""
    field = Ragged(workload.dtype) if workload.ragged else Dense(workload.dtype, workload.shape)
    with CacheWriter(folder / "samples", {"x": field}) as writer:
        for chunk in workload.chunks():
            for sample in chunk:
                writer.append({"x": sample})


class Opened:
    """An opened cache with all its rows."""

    def __init__(self, folder: Path) -> None:
        self.population = Population([Cache.open(folder / "samples")])

    def gather(self, numbers: npt.NDArray[np.int64]) -> Any:
        """Its one call for many records."""
        return self.population.gather(numbers, ["x"])

    def batches(self, size: int) -> Iterator[Any]:
        """Its loader, without end."""
        with Loader(self.population, size, order="permuted", fields=["x"]) as loader:
            yield from loader.steps()

    def numpy(self, batch: Any) -> npt.NDArray[np.generic] | Packed:
        """It is that already."""
        x: npt.NDArray[np.generic] | RaggedArray = batch["x"]
        return Packed(x.values, x.offsets) if isinstance(x, RaggedArray) else x


def opened(workload: Workload, folder: Path) -> Opened:
    """Open the cache."""
    return Opened(folder)
