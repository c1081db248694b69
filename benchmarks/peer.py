"""What a peer's reader can do, in the words that the measurement uses."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from benchmarks.workload import Packed, Workload


class Reader(Protocol):
    """One stored workload, opened. What `gather` and `batches` yield is the peer's own kind of batch."""

    def gather(self, numbers: npt.NDArray[np.int64]) -> Any:
        """The samples of these numbers, in this order, in finished buffers."""

    def batches(self, size: int) -> Iterator[Any]:
        """Random batches without end, as the peer's loader gives them to a training loop."""

    def numpy(self, batch: Any) -> npt.NDArray[np.generic] | Packed:
        """A batch as NumPy sees it, without a copy where the peer can do without."""


class Peer(Protocol):
    """A module under benchmarks/peers."""

    def write(self, workload: Workload, folder: Path) -> None:
        """Store all samples."""

    def opened(self, workload: Workload, folder: Path) -> Reader:
        """Open what was stored."""


def load(name: str) -> Peer:
    """Import a peer's module, and with it the system that it speaks to."""
    return cast(Peer, importlib.import_module(f"benchmarks.peers.{name}"))
