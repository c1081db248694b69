"""NumPy over one mapped file: no format, no checks, no loader. What the machine gives away for nothing."""

import mmap
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import pool
from benchmarks.loops import Permutations, gathered, one_by_one
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source, Transform
from benchmarks.workload import Batch, Joined, Packed, Workload

ABOUT = About(
    "numpy",
    reads="one indexing of a `np.memmap`, of cold files with the advice `MADV_RANDOM` or without, for ragged "
    "samples `np.concatenate` of slices; the loop around it is plain Python, alone or with threads that are "
    "ahead; no checks",
    writes="`file.write` of every array",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    "cold": [{"advice": "none"}, {"advice": "random"}],
    "loop": [{"threads": 0}, {"threads": 1}, {"threads": 2}],
    "workers": [{"threads": threads} for threads in (0, 1, 2, 4)],
}


class Mapped:
    """The file and where samples begin in it; pickled as its path."""

    def __init__(self, workload: Workload, folder: Path, advice: str) -> None:
        self.source = workload, folder, advice
        self.path, self.form = folder / "values", workload.form
        self.offsets = workload.offsets if workload.ragged else None
        self.shapes = workload.shapes if workload.ragged and workload.ndim > 1 else None
        shape = (workload.offsets[-1],) if workload.ragged else (workload.samples, *workload.shape)
        mapped: Any = np.memmap(self.path, workload.dtype, "r", shape=shape)
        if advice == "random":
            mapped._mmap.madvise(mmap.MADV_RANDOM)  # NumPy has no public name for it
        self.values = np.asarray(mapped)

    def __len__(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1

    def __reduce__(self) -> tuple[type["Mapped"], tuple[Workload, Path, str]]:
        return Mapped, self.source


def write(workload: Workload, samples: Iterable[Array], folder: Path) -> None:
    """All elements in one file."""
    if workload.codec != "raw":
        raise Cannot("no codec")
    with (folder / "values").open("wb") as file:
        for sample in samples:
            file.write(sample.data)


def open(workload: Workload, folder: Path, *, advice: str = "none") -> Mapped:
    """Map the file."""
    return Mapped(workload, folder, advice)


def gather(mapped: Mapped, numbers: Numbers) -> Batch:
    """One indexing of the map, or the slices of it joined."""
    batch = packed(mapped, numbers)
    return list(batch) if mapped.form == "list" else batch


def packed(mapped: Mapped, numbers: Numbers) -> Joined:
    """The same, in one piece also where a list is asked for, which then views it."""
    if mapped.offsets is None:
        return mapped.values[numbers]
    starts, ends = mapped.offsets[numbers], mapped.offsets[numbers + 1]
    parts = [mapped.values[each] for each in map(slice, starts.tolist(), ends.tolist())]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)])
    shapes = None if mapped.shapes is None else mapped.shapes[numbers]
    return Packed(np.concatenate(parts), offsets, shapes)


def loop(
    mapped: Mapped,
    batch: int,
    *,
    seed: int,
    transform: Transform | None = None,
    threads: int = 0,
) -> Iterator[Batch]:
    """Permutations, one after another, as one writes it by hand."""
    yield from gathered(partial(gather, mapped), Permutations(len(mapped), batch, seed), transform, threads)


def samples(mapped: Mapped, *, seed: int, shuffled: bool) -> Iterator[Array]:
    """A copy of each row or slice."""
    for number in one_by_one(len(mapped), seed, shuffled):
        yield one(mapped, number)


def one(mapped: Mapped, number: int) -> Array:
    """A copy of the row or slice that this sample is."""
    if mapped.offsets is None:
        row: Array = mapped.values[number].copy()
        return row
    vector = mapped.values[mapped.offsets[number] : mapped.offsets[number + 1]].copy()
    return vector if mapped.shapes is None else vector.reshape(mapped.shapes[number])


def draw(
    order: str, rows: int, batch: int, *, weights: npt.NDArray[np.float64] | None = None, seed: int = 0
) -> Callable[[], Numbers]:
    """NumPy's generator; weighted by a bisection of the sums, which are made once."""
    rng = np.random.default_rng(seed)
    if order == "uniform":
        return lambda: rng.integers(0, rows, batch)
    if order == "permuted":
        return iter(Permutations(rows, batch, seed)).__next__
    if weights is None:
        raise Cannot(f"no order {order}")
    sums = np.cumsum(weights)

    def bisected() -> Numbers:
        found: Numbers = np.searchsorted(sums, rng.random(batch) * sums[-1], "right")
        return found

    return bisected


def write_batches(workload: Workload, batches: Iterable[Joined], folder: Path) -> None:
    """The same file."""
    write(workload, (batch.values if isinstance(batch, Packed) else batch for batch in batches), folder)


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


def metadata(folder: Path) -> Columns:
    """The other two files."""
    numbers = np.fromfile(folder / "number", "<i8")
    return {"number": numbers, "label": (folder / "label").read_text().splitlines()}


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are a pool by hand."""
    write(workload, pool.samples(source, workers), folder)
