"""loaderx: typed stores of raw records, its gather and its loader."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from loaderx import Loader
from loaderx.sampler import Sampler
from loaderx.zrecord import Dense, Ragged, RaggedBatch

from benchmarks.workload import Packed, Workload


def write(workload: Workload, folder: Path) -> None:
    """One store."""
    if workload.ragged:
        with Ragged.create(folder / "store", workload.dtype, ndim=1, codec="raw") as store:
            for chunk in workload.chunks():
                store.append(RaggedBatch.from_records(chunk))
    else:
        with Dense.create(folder / "store", workload.dtype, workload.shape, codec="raw") as store:
            for chunk in workload.chunks():
                store.append(np.stack(chunk))


class Store:
    """An opened store."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        self.store = (Ragged if workload.ragged else Dense).open(folder / "store")

    def gather(self, numbers: npt.NDArray[np.int64]) -> Any:
        """Its one call for many records."""
        return self.store.__getitems__(numbers.astype(np.uint64))

    def batches(self, size: int) -> Iterator[Any]:
        """Its loader with one worker, which was faster than 0, 2 and its default of 4 when tried."""
        sampler = Sampler(len(self.store), size, Sampler.Mode.CYCLIC, seed=0)
        with Loader({"x": [self.store]}, sampler, workers=1) as loader:
            for shards in loader:
                yield shards[0]["x"]

    def numpy(self, batch: Any) -> npt.NDArray[np.generic] | Packed:
        """By DLPack, without a copy."""
        if isinstance(batch, RaggedBatch):
            offsets = np.from_dlpack(batch.cu_seqlens).astype(np.int64)
            return Packed(np.from_dlpack(batch.values), offsets)
        dense: npt.NDArray[np.generic] = np.from_dlpack(batch)
        return dense


def opened(workload: Workload, folder: Path) -> Store:
    """Open the store."""
    return Store(workload, folder)
