"""dataset-rt: samples are bytes; they are joined here, because a batch is what a training loop needs."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from dataset_rt import (
    CachedDataset,
    CachedSample,
    CacheInput,
    CacheWriteSuccess,
    DatasetRuntime,
    ReaderConfig,
    WriterConfig,
)

from benchmarks import records
from benchmarks.loops import arrived, tensors
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source, Transform
from benchmarks.workload import Batch, Workload

ABOUT = About(
    "dataset-rt",
    reads="samples are bytes; `get_item` in a loop, as it has no call for many; its iterator, which draws by "
    "weight with replacement, cut into batches, or its loader for torch with worker processes; the bytes of "
    "a batch are joined into one array; no checksums",
    writes="`write_cache` of a source that makes bytes of each array; its processes are for several sources",
)
_THREADS: list[dict[str, Any]] = [
    *({"threads": threads} for threads in (2, 4, 8)),
    *({"threads": threads, "prefetch": 512} for threads in (2, 8)),
]
SWEEP: dict[str, list[dict[str, Any]]] = {
    "write": [{"threads": 1}, {"threads": 2}, {"threads": 4}, {"threads": 8}],
    "loop": [*_THREADS, {"threads": 1, "processes": 2}],
    "samples": _THREADS,
    "workers": [
        *({"threads": threads} for threads in (1, 2, 4, 8)),
        *({"threads": 1, "processes": processes} for processes in (1, 2, 4)),
    ],
}


_ENDLESS = 1 << 40
"""Samples of an epoch."""


@dataclass(frozen=True)
class Samples:
    """What its bytes do not say."""

    workload: Workload
    shapes: npt.NDArray[np.int64] | None

    def joined(self, samples: list[CachedSample]) -> Batch:
        """The batch that these samples are."""
        values = [sample.data for sample in samples]
        if self.shapes is None:
            return records.joined(self.workload, values)
        return records.joined(self.workload, values, self.shapes[[sample.sample_id for sample in samples]])


class Store:
    """A cache, opened for single samples."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        self.path = folder / "samples"
        self.samples = Samples(workload, records.shapes(folder))
        self.dataset = self.reader(1, ReaderConfig(seed=0, shuffle=False))
        # Its table of metadata has it, too, in every row, and would be made for that.
        self.cache_id = int(json.loads((self.path / "manifest.json").read_text())["cache_id"])

    def reader(self, threads: int, config: ReaderConfig) -> CachedDataset:
        """Another one of the same cache."""
        return DatasetRuntime(num_workers=threads).cached_dataset([self.path], reader_config=config)

    def endless(self, threads: int, config: ReaderConfig) -> CachedDataset:
        """The same, whose epoch does not end: at the end of one, what was read ahead would be lost."""
        reader = self.reader(threads, config)
        reader.set_epoch_len(_ENDLESS)
        return reader


class _Source:
    name = "samples"

    def __init__(self, inputs: Iterable[CacheInput]) -> None:
        self.inputs = inputs

    def __iter__(self) -> Iterator[CacheInput]:
        return iter(self.inputs)


def _written(
    workload: Workload, inputs: Iterable[CacheInput], folder: Path, threads: int = 2, processes: int = 0
) -> None:
    if workload.codec != "raw":
        raise Cannot("no zstd, only lz4")
    config = WriterConfig(show_progress=False, num_processes=processes)
    runtime = DatasetRuntime(num_workers=threads)
    results = runtime.write_cache(_Source(inputs), folder, writer_config=config)
    if not all(isinstance(result, CacheWriteSuccess) for result in results):
        raise RuntimeError(f"dataset-rt could not write: {results}")


def write(workload: Workload, samples: Iterable[Array], folder: Path, *, threads: int = 2) -> None:
    """One cache; metadata there must be."""
    one = {"one": 1}
    values = records.encoded(workload, samples, folder)
    _written(workload, (CacheInput._make((value, one)) for value in values), folder, threads)


def open(workload: Workload, folder: Path) -> Store:
    """Open the cache."""
    return Store(workload, folder)


def gather(store: Store, numbers: Numbers) -> Batch:
    """One call a sample."""
    item, cache_id = store.dataset.get_item, store.cache_id
    return store.samples.joined([item(cache_id, number) for number in numbers.tolist()])


class _Collate:
    """What a worker process of torch makes of the samples of a batch."""

    def __init__(self, samples: Samples, transform: Transform | None) -> None:
        self.samples, self.transform = samples, transform

    def __call__(self, samples: list[CachedSample]) -> Any:
        batch = self.samples.joined(samples)
        return tensors(batch if self.transform is None else self.transform(batch))


def loop(
    store: Store,
    batch: int,
    *,
    seed: int,
    transform: Transform | None = None,
    threads: int = 4,
    prefetch: int = 64,
    processes: int = 0,
) -> Iterator[Batch]:
    """Its iterator, cut into batches, or its loader for torch."""
    workload = store.samples.workload
    reader = store.endless(threads, ReaderConfig(seed=seed, shuffle=True, prefetch_size=prefetch))
    if processes:
        loader = reader.to_torch_dataloader(
            batch_size=batch,
            # A list of samples travels in one piece.
            collate_fn=_Collate(replace(store.samples, workload=replace(workload, form="packed")), transform),
            seed=seed,
            num_workers=processes,
            native_num_workers=threads,
            drop_last=True,
            verbose=False,
        )
        for made in loader:
            yield arrived(made, workload)
    each = iter(reader)
    while True:
        made = store.samples.joined(list(islice(each, batch)))
        yield made if transform is None else transform(made)


def samples(
    store: Store, *, seed: int, shuffled: bool, threads: int = 4, prefetch: int = 64
) -> Iterator[Array]:
    """Its iterator."""
    for sample in store.endless(threads, ReaderConfig(seed=seed, shuffle=shuffled, prefetch_size=prefetch)):
        yield records.one(store.samples.workload, sample.data)


def draw(
    order: str, rows: int, batch: int, *, weights: npt.NDArray[np.float64] | None = None, seed: int = 0
) -> Callable[[], Numbers]:
    """Its iterator is one piece."""
    raise Cannot("draws and reads in one")


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """One cache."""
    _written(workload, (CacheInput._make((sample.tobytes(), metadata)) for sample, metadata in rows), folder)


def metadata(folder: Path) -> Columns:
    """Its table."""
    config = ReaderConfig(seed=0, shuffle=False)
    dataset = DatasetRuntime(num_workers=1).cached_dataset([folder / "samples"], reader_config=config)
    found = dataset.get_metadata()
    return {name: found[name] for name in ("number", "label")}


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
    _written(workload, _Inputs(source), folder, processes=workers)
