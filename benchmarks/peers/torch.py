"""torch's DataLoader over NumPy's mapped file: a batch a call, in worker processes of every start method."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.loops import Permutations, one_by_one
from benchmarks.peer import About, Array, Cannot, Numbers, Transform
from benchmarks.peers import memmap
from benchmarks.workload import Batch, Joined, Packed, Workload

ABOUT = About(
    "torch",
    reads="`DataLoader` over the file of memmap; `__getitems__` makes a whole batch, by NumPy's indexing or "
    "`index_select`; the batch sampler has no end, so that no epoch interrupts; workers send their batches "
    "through shared memory; single samples by the same with `batch_size=None`; `pin_memory` off; no checks",
    writes="the file of memmap",
)
METHODS = ("fork", "spawn", "forkserver")
"""How workers are started, which takes its time: once they run, they are alike."""

SWEEP: dict[str, list[dict[str, Any]]] = {
    "open": [{"by": "numpy"}, {"by": "index_select"}],
    "cold": [{"advice": "none"}, {"advice": "random"}],
    "loop": [
        {"workers": 0},
        {"workers": 1},
        {"workers": 2},
        {"workers": 2, "prefetch": 4},
        {"workers": 4},
    ],
    "workers": [
        {"workers": 0},
        *({"workers": count, "method": METHODS[0]} for count in (1, 2, 4)),
        *({"workers": 2, "method": method} for method in METHODS[1:]),
    ],
    "samples": [{"workers": 0}, {"workers": 2}],
    "draw": [{"ahead": 1}, {"ahead": 4096}],
}
write = memmap.write


class Rows(Dataset[Any]):
    """The file of memmap as batches of tensors; pickled as its path."""

    def __init__(self, mapped: memmap.Mapped, by: str, transform: Transform | None = None) -> None:
        self.mapped, self.by, self.transform = mapped, by, transform
        if by == "index_select":
            if mapped.offsets is not None:
                raise Cannot("index_select takes rows of one length")
            size = mapped.values.nbytes
            # Bytes, as not every dtype has an index_select.
            whole = torch.from_file(str(mapped.path), shared=False, size=size, dtype=torch.uint8)
            self.rows = whole.view(len(mapped), -1)

    def __len__(self) -> int:
        return len(self.mapped)

    def __reduce__(self) -> tuple[type["Rows"], tuple[Any, ...]]:
        return Rows, (self.mapped, self.by, self.transform)

    def batch(self, numbers: Numbers) -> Joined:
        """The samples of these numbers, in one piece."""
        if self.by == "numpy":
            return memmap.packed(self.mapped, numbers)
        taken = self.rows.index_select(0, torch.from_numpy(numbers)).numpy()
        values = self.mapped.values
        return taken.view(values.dtype).reshape(len(numbers), *values.shape[1:])

    def __getitem__(self, number: int) -> torch.Tensor:
        return torch.from_numpy(memmap.one(self.mapped, number))

    def __getitems__(self, numbers: Numbers) -> Any:
        batch: Batch = self.batch(numbers)
        if self.transform is not None:
            batch = self.transform(_formed(batch, self.mapped.form))
        if isinstance(batch, np.ndarray):
            return torch.from_numpy(batch)
        if isinstance(batch, list):
            return [torch.from_numpy(sample) for sample in batch]
        parts = (batch.values, batch.offsets, batch.shapes)
        return tuple(torch.from_numpy(part) for part in parts if part is not None)


def _formed(batch: Batch, form: str) -> Batch:
    # A list is made where the batch is used: a piece of shared memory for each sample would take far longer.
    return list(batch) if form == "list" else batch


def open(workload: Workload, folder: Path, *, by: str = "numpy", advice: str = "none") -> Rows:
    """Map the file."""
    if advice != "none" and by != "numpy":
        raise Cannot(f"the map of {by} takes no advice")
    return Rows(memmap.open(workload, folder, advice=advice), by)


def gather(rows: Rows, numbers: Numbers) -> Batch:
    """In this process."""
    return _formed(rows.batch(numbers), rows.mapped.form)


def _as_it_is(batch: Any) -> Any:
    return batch


def loop(
    rows: Rows,
    batch: int,
    *,
    seed: int,
    transform: Transform | None = None,
    workers: int = 0,
    method: str = "fork",
    prefetch: int = 2,
) -> Iterator[Batch]:
    """Its loader; the transform is where the batch is made."""
    orders: Any = Permutations(len(rows), batch, seed)
    loader = DataLoader(
        Rows(rows.mapped, rows.by, transform),
        batch_sampler=orders,
        collate_fn=_as_it_is,
        num_workers=workers,
        multiprocessing_context=method if workers else None,
        prefetch_factor=prefetch if workers else None,
    )
    for made in loader:
        if isinstance(made, torch.Tensor):
            yield made.numpy()
        elif isinstance(made, list):
            yield [sample.numpy() for sample in made]
        else:
            yield _formed(Packed(*(part.numpy() for part in made)), rows.mapped.form)


def samples(rows: Rows, *, seed: int, shuffled: bool, workers: int = 0) -> Iterator[Array]:
    """Its loader without batches."""
    if rows.by == "index_select":
        raise Cannot("index_select is for batches")
    numbers: Any = one_by_one(len(rows), seed, shuffled)
    loader = DataLoader(
        rows,
        batch_size=None,
        sampler=numbers,
        collate_fn=_as_it_is,
        num_workers=workers,
        multiprocessing_context=METHODS[0] if workers else None,
    )
    for sample in loader:
        yield sample.numpy()


def draw(
    order: str,
    rows: int,
    batch: int,
    *,
    weights: npt.NDArray[np.float64] | None = None,
    seed: int = 0,
    ahead: int = 1,
) -> Callable[[], Numbers]:
    """`randint`, `randperm`, and `multinomial` for so many batches at once."""
    generator = torch.Generator().manual_seed(seed)
    if order == "uniform":
        return lambda: torch.randint(rows, (batch,), generator=generator).numpy()
    if order == "permuted":
        return _permuted(rows, batch, generator).__next__
    if weights is None:
        raise Cannot(f"no order {order}")
    return _multinomial(torch.from_numpy(weights), batch, ahead, generator).__next__


def _permuted(rows: int, batch: int, generator: torch.Generator) -> Iterator[Numbers]:
    while True:
        order = torch.randperm(rows, generator=generator).numpy()
        for first in range(0, rows - batch + 1, batch):
            yield order[first : first + batch]


def _multinomial(
    weights: torch.Tensor, batch: int, ahead: int, generator: torch.Generator
) -> Iterator[Numbers]:
    while True:
        try:
            drawn = torch.multinomial(weights, batch * ahead, replacement=True, generator=generator)
        except RuntimeError as error:
            raise Cannot(str(error).splitlines()[0]) from error
        yield from drawn.view(ahead, batch).numpy()
