"""Worker processes around a writer that takes one sample after another, as one writes them by hand."""

from collections.abc import Iterator
from multiprocessing import get_context

from benchmarks.peer import Array, Source

AT_ONCE = 16
"""Samples that go to a process together, and come back so."""


def samples(source: Source, workers: int) -> Iterator[Array]:
    """All samples of a source in order, made by so many processes; without any, by this one."""
    if not workers:
        yield from map(source.__getitem__, range(len(source)))
        return
    # Forked from a server without threads, as those of Arrow, Lance and HDF5 do not survive a fork.
    with get_context("forkserver").Pool(workers) as pool:
        yield from pool.imap(source.__getitem__, range(len(source)), chunksize=AT_ONCE)
