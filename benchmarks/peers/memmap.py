"""NumPy over one mapped file: no format, no checks, no threads. What the machine gives away for nothing."""

from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peer import Cannot, Row, Source
from benchmarks.workload import Batch, Packed, Workload


def _refuse_codec(workload: Workload) -> None:
    if workload.codec != "raw":
        raise Cannot("no codec")


def write_samples(workload: Workload, samples: Iterable[npt.NDArray[np.generic]], folder: Path) -> None:
    """All elements in one file."""
    _refuse_codec(workload)
    with (folder / "values").open("wb") as file:
        for sample in samples:
            file.write(sample.data)


def write_batches(workload: Workload, batches: Iterable[Batch], folder: Path) -> None:
    """The same file."""
    arrays = (batch.values if isinstance(batch, Packed) else batch for batch in batches)
    write_samples(workload, arrays, folder)


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """A file for each column beside it; strings are lines."""
    with (
        (folder / "values").open("wb") as values,
        (folder / "number").open("wb") as numbers,
        (folder / "label").open("w") as labels,
    ):
        for sample, metadata in rows:
            values.write(sample.data)
            numbers.write(metadata["number"].to_bytes(8, "little"))
            labels.write(metadata["label"] + "\n")


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """By hand: the pool of Python's standard library."""
    if not workers:
        write_samples(workload, map(source.__getitem__, range(len(source))), folder)
        return
    with get_context("forkserver").Pool(workers) as pool:
        samples = pool.imap(source.__getitem__, range(len(source)), chunksize=16)
        write_samples(workload, samples, folder)


def metadata(folder: Path) -> dict[str, list[Any]]:
    """The other two files."""
    numbers = np.fromfile(folder / "number", "<i8").tolist()
    return {"number": numbers, "label": (folder / "label").read_text().splitlines()}


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

    def numpy(self, batch: Any) -> Batch:
        """It is that already."""
        packed: Batch = batch
        return packed


def opened(workload: Workload, folder: Path) -> Mapped:
    """Map the file."""
    return Mapped(workload, folder)
