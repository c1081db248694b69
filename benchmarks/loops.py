"""Loops for systems that store but bring no loader: in this process, in threads, or by torch's DataLoader."""

import importlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.peer import Array, Numbers, Transform
from benchmarks.workload import Batch, Packed, Workload


class Permutations:
    """Numbers for a batch at a time: permutations of all samples, one after another, without end."""

    def __init__(self, samples: int, batch: int, seed: int) -> None:
        self.samples, self.batch, self.seed = samples, batch, seed

    def __iter__(self) -> Iterator[Numbers]:
        rng = np.random.default_rng(self.seed)
        while True:
            order = rng.permutation(self.samples)
            for first in range(0, self.samples - self.batch + 1, self.batch):
                yield order[first : first + self.batch]


def one_by_one(samples: int, seed: int, shuffled: bool = True) -> Iterator[int]:
    """The numbers of all samples, pass after pass: each in an order of its own, or as they are stored."""
    rng = np.random.default_rng(seed)
    while True:
        yield from rng.permutation(samples).tolist() if shuffled else range(samples)


def gathered(
    gather: Callable[[Numbers], Batch],
    orders: Permutations,
    transform: Transform | None = None,
    threads: int = 0,
) -> Iterator[Batch]:
    """Gather each batch when it is asked for, or in threads, two batches a thread ahead."""

    def one(numbers: Numbers) -> Batch:
        batch = gather(numbers)
        return batch if transform is None else transform(batch)

    if not threads:
        yield from map(one, orders)
        return
    each = iter(orders)
    with ThreadPoolExecutor(threads) as pool:
        ahead = deque(pool.submit(one, next(each)) for _ in range(2 * threads))
        while True:
            ahead.append(pool.submit(one, next(each)))
            yield ahead.popleft().result()


class _Stored:
    """What torch's DataLoader hands to its workers: each opens the store itself when it is first asked."""

    def __init__(
        self,
        peer: str,
        workload: Workload,
        folder: Path,
        transform: Transform | None,
        opened: Mapping[str, Any],
    ) -> None:
        # A list of many arrays would travel as so many tensors: it is packed, and a list again on arrival.
        self.peer, self.workload = peer, replace(workload, form="packed")
        self.folder, self.transform, self.opened = folder, transform, opened
        self.handle: Any = None

    def __getitem__(self, numbers: Numbers) -> Batch:
        peer = importlib.import_module(f"benchmarks.peers.{self.peer}")
        if self.handle is None:
            self.handle = peer.open(self.workload, self.folder, **self.opened)
        batch: Batch = peer.gather(self.handle, numbers)
        return batch if self.transform is None else self.transform(batch)


def tensors(batch: Batch) -> Any:
    """A batch for the way from a worker: tensors go through shared memory, arrays through a pipe."""
    from torch import from_numpy

    if isinstance(batch, Packed):
        parts = (batch.values, batch.offsets, batch.shapes)
        return tuple(from_numpy(part) for part in parts if part is not None)
    return from_numpy(batch)


def arrived(found: Any, workload: Workload) -> Batch:
    """Take for a batch again what `tensors` made of it."""
    if not workload.ragged:
        dense: Array = found.numpy()
        return dense
    packed = Packed(*(part.numpy() for part in found))
    return list(packed) if workload.form == "list" else packed


def server() -> Any:
    """The context of a server that has imported torch, from which workers are forked."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["torch"])
    return context


def by_processes(
    peer: str,
    workload: Workload,
    folder: Path,
    orders: Permutations,
    transform: Transform | None,
    workers: int,
    opened: Mapping[str, Any],
) -> Iterator[Batch]:
    """Torch's DataLoader with so many workers; a request is a whole batch, as stores gather that at once.

    Workers are forked from a server without threads, as those of Arrow, Lance and HDF5 do not survive a fork.
    """
    from torch.utils.data import DataLoader

    source: Any = _Stored(peer, workload, folder, transform, opened)
    loader: Any = DataLoader(
        source,
        batch_size=None,
        sampler=orders,
        num_workers=workers,
        collate_fn=tensors,
        multiprocessing_context=server(),
    )
    for found in loader:
        yield arrived(found, workload)


def stored(
    peer: str,
    handle: Any,
    batch: int,
    *,
    seed: int,
    transform: Transform | None = None,
    threads: int = 0,
    workers: int = 0,
    opened: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Batch]:
    """Loop over a store by any of these ways; the handle has its `workload` and `folder`.

    Workers open the store with what `opened` says, as the handle was.
    """
    orders = Permutations(handle.workload.samples, batch, seed)
    if workers:
        return by_processes(peer, handle.workload, handle.folder, orders, transform, workers, dict(opened))
    gather = importlib.import_module(f"benchmarks.peers.{peer}").gather
    return gathered(partial(gather, handle), orders, transform, threads)
