"""What a peer can do, in the words that the measurements use."""

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from benchmarks.workload import Batch, Workload

Row: TypeAlias = tuple[npt.NDArray[np.generic], dict[str, Any]]
"""A sample and its metadata: `number`, an int, and `label`, a str."""


class Cannot(Exception):
    """A system has no way to do what it is asked for; the words go into its cell of the report."""


class Source(Protocol):
    """Samples by their numbers; it can be pickled."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int) -> npt.NDArray[np.generic]: ...


class Reader(Protocol):
    """One stored workload, opened. What `gather` and `batches` yield is the peer's own kind of batch."""

    def gather(self, numbers: npt.NDArray[np.int64]) -> Any:
        """The samples of these numbers, in this order, in finished buffers."""

    def batches(self, size: int) -> Iterator[Any]:
        """Random batches without end, as the peer's loader gives them to a training loop."""

    def numpy(self, batch: Any) -> Batch:
        """A batch as NumPy sees it, without a copy where the peer can do without."""


class Peer(Protocol):
    """A module under benchmarks/peers. Each function may raise `Cannot`."""

    def write_samples(
        self, workload: Workload, samples: Iterable[npt.NDArray[np.generic]], folder: Path
    ) -> None:
        """Store samples that come one by one, in order, in a folder that is there and empty."""

    def write_batches(self, workload: Workload, batches: Iterable[Batch], folder: Path) -> None:
        """Store the same from arrays of many samples each."""

    def write_rows(self, workload: Workload, rows: Iterable[Row], folder: Path) -> None:
        """Store samples that come one by one with metadata."""

    def metadata(self, folder: Path) -> dict[str, list[Any]]:
        """What `write_rows` stored beside the samples, in order, by name."""

    def build(self, workload: Workload, source: Source, folder: Path, workers: int) -> None:
        """Store the samples of a source that is worth so many processes; with none, in this one."""

    def opened(self, workload: Workload, folder: Path) -> Reader:
        """Open what was stored, in any of these ways."""


def load(name: str) -> Peer:
    """Import a peer's module, and with it the system that it speaks to."""
    return cast(Peer, importlib.import_module(f"benchmarks.peers.{name}"))


def check(peer: str, workload: Workload, folder: Path) -> None:
    """Read all that was stored.

    Raises:
        ValueError: It is not all samples in order, every byte.
    """
    reader = load(peer).opened(workload, folder)
    for first in range(0, workload.samples, workload.batch):
        numbers = np.arange(first, min(first + workload.batch, workload.samples), dtype=np.int64)
        if workload.check(reader.numpy(reader.gather(numbers))) != numbers.tolist():
            raise ValueError(f"{workload.name}: samples from {first} on are not in the order of writing")
