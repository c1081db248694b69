"""Grain over ArrayRecord: samples are bytes in a file of records, Grain shuffles, reads and batches them."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import grain.python as grain
import numpy as np
import numpy.typing as npt
from absl import flags
from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter

from benchmarks import pool, records
from benchmarks.loops import Permutations, gathered
from benchmarks.peer import About, Array, Cannot, Numbers, Source, Transform
from benchmarks.workload import LEVEL, Batch, Packed, Workload

ABOUT = About(
    "grain array-record",
    reads="`ArrayRecordReader.read` of many records at once, in its threads; `MapDataset`, shuffled, either "
    "of records that `batch` collects or of batches of numbers that are read at once, with threads or "
    "processes, or without Grain permutations and `read`, alone or with a thread; the bytes of a batch are "
    "joined into one array; single samples by `MapDataset`, in order also by `read` of one after another or "
    "of ranges, with its readahead or without; riegeli's checksums",
    writes="`ArrayRecordWriter` with `group_size:1`, which Grain asks for, uncompressed or zstd",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    "open": [
        {"options": "readahead_buffer_size:0,max_parallelism:0"},
        {"options": "readahead_buffer_size:0"},
    ],
    "loop": [
        {"threads": 1, "buffer": 2},
        {"threads": 2, "buffer": 4},
        {"threads": 4, "buffer": 8},
        {"threads": 1, "buffer": 2, "processes": 2},
        {"by": "records", "threads": 2, "buffer": 4},
        {"threads": 0, "buffer": 0},
        {"by": "hand", "threads": 0},
        {"by": "hand", "threads": 1},
    ],
    "samples": [
        {"threads": 0, "buffer": 0},
        {"threads": 2, "buffer": 64},
        {"threads": 4, "buffer": 256},
        {"by": "read", "readahead": "16M"},
        {"by": "ranges", "readahead": "16M"},
        {"by": "ranges", "readahead": "0"},
    ],
    "workers": [
        *({"threads": threads, "buffer": 2 * threads} for threads in (0, 1, 2, 4)),
        *({"threads": 1, "buffer": 2, "processes": processes} for processes in (1, 2, 4)),
    ],
}
RANGE = 4 << 20
"""Bytes of samples that are read at once, in order."""


class Records:
    """An opened file; in another process, opened anew."""

    def __init__(self, workload: Workload, folder: Path, options: str) -> None:
        self.source = workload, folder, options
        self.workload, self.shapes = workload, records.shapes(folder)
        self.reader = ArrayRecordReader(str(folder / "records"), options)

    def __reduce__(self) -> tuple[type["Records"], tuple[Any, ...]]:
        return Records, self.source

    def __len__(self) -> int:
        return self.workload.samples

    def __getitem__(self, number: int) -> tuple[int, bytes]:
        return number, self.reader.read([number])[0]

    def batch(self, numbers: Numbers) -> Batch:
        """The samples of these numbers."""
        return self.joined(numbers, self.reader.read(numbers.tolist()))

    def joined(self, numbers: Any, found: list[bytes]) -> Batch:
        """The batch that these records are."""
        return records.joined(self.workload, found, None if self.shapes is None else self.shapes[numbers])

    def collected(self, found: list[tuple[int, bytes]]) -> Batch:
        """The same of what `__getitem__` gave."""
        return self.joined([number for number, _ in found], [record for _, record in found])


def write(workload: Workload, samples: Iterable[Array], folder: Path) -> None:
    """One file."""
    if workload.codec == "zstd-dict":
        raise Cannot("zstd without dictionaries")
    codec = "uncompressed" if workload.codec == "raw" else f"zstd:{LEVEL}"
    writer = ArrayRecordWriter(str(folder / "records"), f"group_size:1,{codec}")
    for record in records.encoded(workload, samples, folder):
        writer.write(record)
    writer.close()


def open(workload: Workload, folder: Path, *, options: str = "readahead_buffer_size:0") -> Records:
    """Open the file."""
    return Records(workload, folder, options)


def gather(store: Records, numbers: Numbers) -> Batch:
    """Its one call for many records."""
    return store.batch(numbers)


def loop(
    store: Records,
    batch: int,
    *,
    seed: int,
    transform: Transform | None = None,
    by: str = "batches",
    threads: int = 1,
    buffer: int = 2,
    processes: int = 0,
) -> Iterator[Batch]:
    """Its dataset, endlessly repeated; the transform is a `map` of it. Or permutations and reads, by hand."""
    if by == "hand":
        yield from gathered(store.batch, Permutations(len(store), batch, seed), transform, threads)
    if by == "records":
        batches = _shuffled(grain.MapDataset.source(store), seed).batch(batch, batch_fn=store.collected)
    else:
        numbers = _shuffled(grain.MapDataset.range(len(store)), seed).batch(batch, batch_fn=_numbers)
        batches = numbers.map(store.batch)
    if transform is not None:
        batches = batches.map(transform)
    made = batches.map(_parts).to_iter_dataset(grain.ReadOptions(threads, buffer))
    if processes:
        flags.FLAGS.mark_as_parsed()  # it reads some, as if this were an application of absl
        made = made.mp_prefetch(grain.MultiprocessingOptions(processes, per_worker_buffer_size=2))
    for parts in made:
        yield Packed(*parts) if isinstance(parts, tuple) else parts


def samples(
    store: Records,
    *,
    seed: int,
    shuffled: bool,
    by: str = "dataset",
    threads: int = 1,
    buffer: int = 2,
    readahead: str = "16M",
) -> Iterator[Array]:
    """Its dataset of records, or those of the file from the first to the last."""
    if by != "dataset":
        if shuffled:
            raise Cannot(f"by {by} is in order only")
        for record in _in_order(store, by, readahead):
            yield records.one(store.workload, record)
    dataset = grain.MapDataset.source(store)
    dataset = _shuffled(dataset, seed) if shuffled else dataset.repeat()
    for _, record in dataset.to_iter_dataset(grain.ReadOptions(threads, buffer)):
        yield records.one(store.workload, record)


def _in_order(store: Records, by: str, readahead: str) -> Iterator[bytes]:
    """Pass after pass of a reader that reads ahead so many bytes."""
    _, folder, _ = store.source
    reader = ArrayRecordReader(str(folder / "records"), f"readahead_buffer_size:{readahead}")
    count = len(store)
    step = store.workload.count(RANGE)
    while True:
        if by == "read":
            reader.seek(0)
            for _ in range(count):
                yield reader.read()
        else:
            for first in range(0, count, step):
                yield from reader.read(first, min(first + step, count))


def _shuffled(dataset: Any, seed: int) -> Any:
    return dataset.seed(seed).shuffle().repeat()


def _numbers(values: list[int]) -> Numbers:
    return np.array(values, np.int64)


def _parts(batch: Batch) -> Any:
    # Arrays, and tuples of them, go through shared memory from a process to another.
    if not isinstance(batch, Packed):
        return batch
    return tuple(part for part in (batch.values, batch.offsets, batch.shapes) if part is not None)


def draw(
    order: str, rows: int, batch: int, *, weights: npt.NDArray[np.float64] | None = None, seed: int = 0
) -> Callable[[], Numbers]:
    """Its shuffled range."""
    if order != "permuted":
        raise Cannot("only permutations")
    numbers: Iterator[Numbers]
    numbers = iter(_shuffled(grain.MapDataset.range(rows), seed).batch(batch, batch_fn=_numbers))
    return numbers.__next__


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are a pool by hand."""
    write(workload, pool.samples(source, workers), folder)
