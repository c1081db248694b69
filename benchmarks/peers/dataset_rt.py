"""dataset-rt: samples are bytes; they are joined here, because a batch is what a training loop needs."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from dataset_rt import CacheInput, CacheWriteSuccess, DatasetRuntime, ReaderConfig, WriterConfig

from benchmarks.peer import About, Cannot, Numbers, Row, Source, Transform
from benchmarks.workload import Batch, Packed, Workload

ABOUT = About(
    "dataset-rt",
    "samples are bytes; `get_item` in a loop, as it has no call for many; its iterator, which draws by "
    "weight, cut into batches; the bytes of a batch are joined into one array; no checksums",
    "`write_cache` of a source that makes bytes of each array, with 2 threads; its processes are for "
    "several sources",
)
SWEEP: dict[str, list[dict[str, Any]]] = {"open": [{"threads": count} for count in (4, 1, 2)]}


class _Source:
    name = "samples"

    def __init__(self, inputs: Iterable[CacheInput]) -> None:
        self.inputs = inputs

    def __iter__(self) -> Iterator[CacheInput]:
        return iter(self.inputs)


def _written(workload: Workload, inputs: Iterable[CacheInput], folder: Path, processes: int = 0) -> None:
    if workload.codec != "raw":
        raise Cannot("no zstd, only lz4")
    config = WriterConfig(show_progress=False, num_processes=processes)
    results = DatasetRuntime(num_workers=2).write_cache(_Source(inputs), folder, writer_config=config)
    if not all(isinstance(result, CacheWriteSuccess) for result in results):
        raise RuntimeError(f"dataset-rt could not write: {results}")


def write(workload: Workload, samples: Iterable[npt.NDArray[np.generic]], folder: Path) -> None:
    """One cache; metadata there must be."""
    one = {"one": 1}
    _written(workload, (CacheInput._make((sample.tobytes(), one)) for sample in samples), folder)


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """One cache."""
    _written(workload, (CacheInput._make((sample.tobytes(), metadata)) for sample, metadata in rows), folder)


class _Inputs:
    def __init__(self, source: Source) -> None:
        self.source = source

    def __iter__(self) -> Iterator[CacheInput]:
        one = {"one": 1}
        return (CacheInput._make((self.source[number].tobytes(), one)) for number in range(len(self.source)))


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """A process writes whole sources."""
    if workers > 1:
        raise Cannot("one process a source")
    _written(workload, _Inputs(source), folder, workers)


def metadata(folder: Path) -> dict[str, list[Any]]:
    """Its table."""
    dataset = DatasetRuntime(num_workers=1).cached_dataset(
        [folder / "samples"], reader_config=ReaderConfig(seed=0, shuffle=False)
    )
    return {name: dataset.get_metadata()[name].to_list() for name in ("number", "label")}


class Dataset:
    """An opened cache."""

    def __init__(self, workload: Workload, folder: Path, threads: int) -> None:
        runtime = DatasetRuntime(num_workers=threads)
        config = ReaderConfig(seed=0, shuffle=True)
        self.dataset = runtime.cached_dataset([folder / "samples"], reader_config=config)
        self.cache_id = int(self.dataset.get_metadata()["cache_id"][0])
        self.workload = workload

    def joined(self, parts: list[bytes]) -> Batch:
        # A bytearray, so that the array can be written to, as the others' can.
        values = np.frombuffer(bytearray().join(parts), self.workload.dtype)
        if not self.workload.ragged:
            return values.reshape(len(parts), *self.workload.shape)
        sizes = np.fromiter(map(len, parts), np.int64, len(parts)) // values.itemsize
        return Packed(values, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))


def open(workload: Workload, folder: Path, threads: int = 4) -> Dataset:
    """Open the cache."""
    return Dataset(workload, folder, threads)


def gather(opened: Dataset, numbers: Numbers) -> Batch:
    """One call a sample."""
    item, cache_id = opened.dataset.get_item, opened.cache_id
    return opened.joined([item(cache_id, number).data for number in numbers.tolist()])


def loop(opened: Dataset, batch: int, *, seed: int, transform: Transform | None = None) -> Iterator[Batch]:
    """Its iterators, one after another, cut into batches; `seed` is the dataset's."""
    while True:
        samples = iter(opened.dataset)
        while len(parts := [sample.data for sample in islice(samples, batch)]) == batch:
            joined = opened.joined(parts)
            yield joined if transform is None else transform(joined)


def draw(
    order: str, rows: int, batch: int, *, weights: npt.NDArray[np.float64] | None = None, seed: int = 0
) -> Callable[[], Numbers]:
    """It has none apart from its iterator."""
    raise Cannot("no sampler apart from its iterator")
