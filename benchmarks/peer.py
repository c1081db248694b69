"""What a peer is: a module under benchmarks/peers that fills four functions."""

import importlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from benchmarks.workload import Batch, Packed, Workload

Array: TypeAlias = npt.NDArray[np.generic]
Numbers: TypeAlias = npt.NDArray[np.int64]
Transform: TypeAlias = Callable[[Batch], Batch]

Columns: TypeAlias = Mapping[str, Any]
"""Metadata by name, each as the system gives all of it: a list, or an array of NumPy, Arrow or Polars."""

Row: TypeAlias = tuple[Array, dict[str, Any]]
"""A sample and its metadata: `number`, an int, and `label`, a str."""


class Cannot(Exception):
    """A system has no way to do what it is asked for; the words go into its cell of the report."""


@dataclass(frozen=True)
class About:
    """What the report says of a system; `distribution` has its packages' names, with a space between them."""

    distribution: str
    reads: str
    writes: str


class Source(Protocol):
    """Samples by their numbers; it can be pickled."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int) -> Array: ...


class Peer(Protocol):
    """The module. Each function may raise `Cannot`; without `config` it does what suits most.

    A batch is as NumPy sees it, in memory of its own: no view of a mapped file, and not lent until the next
    one, unless the module says `LENDS = True`, which is for yardsticks.
    What only some systems have are further functions, for `optional`: `write_batches`, `write_rows`,
    `metadata`, `build`, `samples(handle, *, seed, shuffled, **config)`, an iteration without end or batches,
    by new permutations or as stored, `pages(handle, numbers)`, how many pages of its files hold these samples
    and what its index tells of them, and `draw(order, rows, batch, *, weights, seed, **config)`, its sampler
    alone: what it returns draws so many numbers at each call; `order` is one of permuted, uniform and
    weighted, and the last alone has `weights`, an array of float64.
    """

    ABOUT: About

    SWEEP: Mapping[str, Sequence[Mapping[str, Any]]]
    """By function, each `config` that is tried, and the fastest is used; without an entry there is one way.

    `layout` stands for those of `write` that decide about reading. `cold` has those of `open` that make a
    difference where files are not in the page cache alone. `workers` has those of `loop` that show what
    workers bring. All values go through JSON.
    """

    def write(self, workload: Workload, samples: Iterable[Array], folder: Path, **config: Any) -> None:
        """Store samples that come one by one, in order, in a folder that is there and empty."""

    def open(self, workload: Workload, folder: Path, **config: Any) -> Any:
        """Open what was stored. The handle is the peer's own affair."""

    def gather(self, handle: Any, numbers: Numbers) -> Batch:
        """The samples of these numbers, in this order."""

    def loop(
        self, handle: Any, batch: int, *, seed: int, transform: Transform | None = None, **config: Any
    ) -> Generator[Batch, None, None]:
        """Shuffled batches of its own loader, without end; each through `transform`, where that is best.

        A generator, because closing it ends its threads and processes.
        """


def load(name: str) -> Peer:
    """Import a peer's module, and with it the system that it speaks to."""
    return cast(Peer, importlib.import_module(f"benchmarks.peers.{name}"))


def optional(peer: Peer, function: str) -> Callable[..., Any]:
    """One of the functions that not every peer has.

    Raises:
        Cannot: This one has not.
    """
    found: Callable[..., Any] | None = getattr(peer, function, None)
    if found is None:
        raise Cannot("no adapter here")
    return found


def check(peer: Peer, workload: Workload, folder: Path, values: Array, batches: int | None = None) -> None:
    """Read all that was stored, or so many batches of it, and compare it with all `values` of the workload.

    Where the system gathers none, they are read one after another.

    Raises:
        ValueError: It is not all samples in order, every byte.
    """
    handle, offsets = peer.open(workload, folder), workload.offsets
    try:
        peer.gather(handle, np.arange(1, dtype=np.int64))
    except Cannot:
        check_stream(peer, workload, handle, batches)
        return
    for first in _firsts(workload, batches):
        last = min(first + workload.batch, workload.samples)
        found = peer.gather(handle, np.arange(first, last, dtype=np.int64))
        ends = offsets[first : last + 1]
        if not _equal(
            found, workload, values[ends[0] : ends[-1]], ends - ends[0], workload.shapes[first:last]
        ):
            raise ValueError(f"{workload.name}: samples from {first} on are not those that were written")


def check_stream(peer: Peer, workload: Workload, handle: Any, batches: int | None = None) -> None:
    """Read samples as they are stored, of a system that gathers none, and compare them with the truth.

    Raises:
        Cannot: It does not stream either.
        ValueError: They are not all samples in order, every byte.
    """
    each = optional(peer, "samples")(handle, seed=0, shuffled=False)
    for first in _firsts(workload, batches):
        numbers = list(range(first, min(first + workload.batch, workload.samples)))
        if list(workload.check(list(islice(each, len(numbers))))) != numbers:
            raise ValueError(f"{workload.name}: samples from {first} on are not those that were written")


def _firsts(workload: Workload, batches: int | None) -> range:
    return range(0, workload.samples, workload.batch)[:batches]


def _equal(found: Batch, workload: Workload, values: Array, offsets: Numbers, shapes: Numbers) -> bool:
    if isinstance(found, list):
        return False
    if isinstance(found, Packed):
        placed = workload.ragged and np.array_equal(found.offsets, offsets)
        shaped = workload.ndim == 1 or (found.shapes is not None and np.array_equal(found.shapes, shapes))
        found = found.values
    else:
        placed = not workload.ragged and found.shape == (len(shapes), *workload.shape)
        shaped = True
    # Bytes, not values: random float32 has NaNs.
    same = found.dtype == values.dtype and np.array_equal(_bytes(found), _bytes(values))
    return placed and shaped and same


def _bytes(array: Array) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
