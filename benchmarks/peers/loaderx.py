"""loaderx: a typed store for each of what belongs to a sample, its gather and its loader."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from loaderx import Loader
from loaderx.sampler import Sampler
from loaderx.zrecord import Dense, Ragged, RaggedBatch

from benchmarks.peer import Cannot, Row, Source
from benchmarks.workload import Batch, Packed, Workload

ROWS_AT_ONCE = 4096


def _created(workload: Workload, folder: Path) -> Dense | Ragged:
    # data_shards stays at 4, the default: 1, 2 and 8 were not faster when tried.
    options: dict[str, Any] = {"codec": workload.codec.replace("-", "_")}
    if workload.codec == "zstd-dict":
        options["dict_bytes"] = workload.dictionary
    if workload.ragged:
        return Ragged.create(folder / "store", workload.dtype, ndim=1, **options)
    return Dense.create(folder / "store", workload.dtype, workload.shape, **options)


def _chunks(samples: Iterable[Any], size: int) -> Iterator[list[Any]]:
    each = iter(samples)
    while chunk := list(islice(each, size)):
        yield chunk


def write_samples(workload: Workload, samples: Iterable[npt.NDArray[np.generic]], folder: Path) -> None:
    """It takes arrays of many samples, and waits until they are written: samples are collected to such."""
    joined = RaggedBatch.from_records if workload.ragged else np.stack
    with _created(workload, folder) as store:
        for chunk in _chunks(samples, max(1, int(workload.batch_bytes / workload.bytes * workload.samples))):
            store.append(joined(chunk))


def write_batches(workload: Workload, batches: Iterable[Batch], folder: Path) -> None:
    """One append a batch."""
    with _created(workload, folder) as store:
        for batch in batches:
            if isinstance(batch, Packed):
                sizes = np.diff(batch.offsets).astype(np.uint64)
                store.append(RaggedBatch(batch.values, batch.offsets.astype(np.int32), sizes[:, None]))
            else:
                store.append(batch)


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """Metadata are streams beside the samples; strings are records of their bytes."""
    with ExitStack() as open_stores:
        samples = open_stores.enter_context(_created(workload, folder))
        numbers = open_stores.enter_context(Dense.create(folder / "number", np.int64, (), codec="raw"))
        labels = open_stores.enter_context(Ragged.create(folder / "label", np.uint8, ndim=1, codec="raw"))
        for chunk in _chunks(rows, ROWS_AT_ONCE):
            samples.append(np.stack([sample for sample, _ in chunk]))
            numbers.append(np.array([metadata["number"] for _, metadata in chunk], np.int64))
            texts = [np.frombuffer(metadata["label"].encode(), np.uint8) for _, metadata in chunk]
            labels.append(RaggedBatch.from_records(texts))


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are for its callers to make."""
    if workers:
        raise Cannot("no processes")
    write_samples(workload, map(source.__getitem__, range(len(source))), folder)


def metadata(folder: Path) -> dict[str, list[Any]]:
    """All of both streams."""
    with Dense.open(folder / "number") as numbers, Ragged.open(folder / "label") as labels:
        texts = [np.from_dlpack(text).tobytes().decode() for text in labels[:].to_tensors()]
        return {"number": np.from_dlpack(numbers[:]).tolist(), "label": texts}


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

    def numpy(self, batch: Any) -> Batch:
        """By DLPack, without a copy."""
        if isinstance(batch, RaggedBatch):
            offsets = np.from_dlpack(batch.cu_seqlens).astype(np.int64)
            return Packed(np.from_dlpack(batch.values), offsets)
        dense: npt.NDArray[np.generic] = np.from_dlpack(batch)
        return dense


def opened(workload: Workload, folder: Path) -> Store:
    """Open the store."""
    return Store(workload, folder)
