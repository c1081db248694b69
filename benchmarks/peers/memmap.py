"""NumPy over one mapped file: no format, no checks, no threads. What the machine gives away for nothing."""

from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peer import About, Cannot, Numbers, Row, Source, Transform
from benchmarks.workload import Batch, Packed, Workload

ABOUT = About(
    "numpy",
    "one indexing of a `np.memmap`, for tokens `np.concatenate` of slices; the same in the loop, "
    "without threads; no checksums",
    "`file.write` of every array, into a file for each column; processes are "
    "`multiprocessing.Pool.imap` with 16 samples at once",
)
SWEEP: dict[str, list[dict[str, Any]]] = {}


def _refuse_codec(workload: Workload) -> None:
    if workload.codec != "raw":
        raise Cannot("no codec")


def write(workload: Workload, samples: Iterable[npt.NDArray[np.generic]], folder: Path) -> None:
    """All elements in one file."""
    _refuse_codec(workload)
    with (folder / "values").open("wb") as file:
        for sample in samples:
            file.write(sample.data)


def write_batches(workload: Workload, batches: Iterable[Batch], folder: Path) -> None:
    """The same file."""
    write(workload, (sample for batch in batches for sample in batch), folder)


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
        write(workload, map(source.__getitem__, range(len(source))), folder)
        return
    with get_context("forkserver").Pool(workers) as pool:
        samples = pool.imap(source.__getitem__, range(len(source)), chunksize=16)
        write(workload, samples, folder)


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


def open(workload: Workload, folder: Path) -> Mapped:
    """Map the file."""
    return Mapped(workload, folder)


def gather(mapped: Mapped, numbers: Numbers) -> Batch:
    """One indexing of the map, or the slices of it joined."""
    if not mapped.ragged:
        return np.asarray(mapped.values[numbers])
    starts, ends = mapped.offsets[numbers].tolist(), mapped.offsets[numbers + 1].tolist()
    values = np.asarray(mapped.values)
    parts = [values[start:end] for start, end in zip(starts, ends, strict=True)]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(part) for part in parts])])
    return Packed(np.concatenate(parts), offsets)


def loop(mapped: Mapped, batch: int, *, seed: int, transform: Transform | None = None) -> Iterator[Batch]:
    """Permutations, one after another."""
    draws = draw("permuted", mapped.samples, batch, seed=seed)
    while True:
        gathered = gather(mapped, draws())
        yield gathered if transform is None else transform(gathered)


def draw(
    order: str, rows: int, batch: int, *, weights: npt.NDArray[np.float64] | None = None, seed: int = 0
) -> Callable[[], Numbers]:
    """NumPy's generator."""
    rng = np.random.default_rng(seed)
    if order == "uniform":
        return lambda: rng.integers(0, rows, batch)
    if order == "weighted":
        return lambda: rng.choice(rows, batch, p=weights)
    numbers = _permuted(rng, rows, batch) if order == "permuted" else _sequential(rows, batch)
    return lambda: next(numbers)


def _permuted(rng: np.random.Generator, rows: int, batch: int) -> Iterator[Numbers]:
    while True:
        order = rng.permutation(rows)
        for first in range(0, rows - batch + 1, batch):
            yield order[first : first + batch]


def _sequential(rows: int, batch: int) -> Iterator[Numbers]:
    while True:
        for first in range(0, rows - batch + 1, batch):
            yield np.arange(first, first + batch)
