"""Streams batches of a population in a reproducible order, from threads of the engine, resumable anywhere."""

from collections.abc import Callable
from typing import Never

from dsrt_native import _native
from dsrt_native.arguments import callback, refuse, whole
from dsrt_native.batch import Batch, arrays
from dsrt_native.gather import Errors, Fields
from dsrt_native.population import HasPopulation
from dsrt_native.stream import Last, LoaderBase, LoaderStats, Order

__all__ = ["Loader", "LoaderBase", "LoaderStats"]


class Loader(LoaderBase):
    """Streams batches of NumPy arrays.

    ``for batch in loader`` is one pass over a window of `epoch_len` positions; ``for epoch in
    range(loader.epoch, EPOCHS): for batch in loader: ...`` resumes exactly. Batches come in the stream's
    order whatever the number of threads. A dense field is an array ``[batch_size, ...]``, a ragged one a
    `RaggedArray`, text and bytes are lists. Arrays are the caller's and writable.

    A loader may be handed from thread to thread, but two threads inside `next` at once raise RuntimeError.
    Used after a fork, each process goes on by itself with threads of its own.

    Args:
        dataset: A `Population`, or anything that has one; it is read once, here.
        batch_size: Samples per batch and rank.
        order: ``"sequential"``, ``"uniform"`` (draws with replacement), ``"weighted"`` (likewise) or
            ``"permuted"`` (each row once per epoch). By default weighted if the dataset has weights, else
            permuted.
        seed: 0 to 2^64-1. The order depends on nothing else.
        fields: What a batch holds, and in which dtypes; see `Population.gather`. Of the built-ins, ``_row``
            is the number of the row in the dataset, ``_position`` the place in the stream, ``_seed`` a draw
            for that place.
        epoch_len: Positions of a window, over all ranks; the number of rows by default.
        last: The end of a window that `batch_size * world_size` does not divide: ``"drop"`` it, ``"pad"`` the
            batch from the window's start (``_valid`` says where), or hand out a ``"short"`` batch (one rank
            only). By default drop; for sequential short, or pad with several ranks.
        rank: This process's number.
        world_size: The number of processes that share the stream.
        transform: A function of a batch, run on the consumer's thread; what it returns is handed out. Its
            exception belongs to its batch: the next `next` goes on.
        threads: Threads of the engine; by default 4, or as many as there are CPUs.
        prefetch: Batches that are made ahead.
        max_bytes: Bytes that batches made ahead may hold together; one batch always may. Memory that is used
            again may be up to twice as large as its batch, and for a moment behind `seek` or `reweight` the
            batches that threads were at come on top.
        errors: ``"mask"`` keeps a batch's shape where records are damaged; see `Population.gather`.

    Raises:
        TypeError: The dataset has no population; `transform` cannot be called, or returned None; an argument
            is of another kind of loader.
        ValueError: An argument is out of range; `last` is ``"short"`` and there are several ranks; the order
            is weighted and there are no weights, or all are zero; there are no rows; a numeric column holds a
            null.
        SchemaError: A name in `fields` is unknown; some caches store weights and some do not.
    """

    def __init__(
        self,
        dataset: HasPopulation,
        batch_size: int,
        *,
        order: Order | None = None,
        seed: int = 0,
        fields: Fields | None = None,
        epoch_len: int | None = None,
        last: Last | None = None,
        rank: int = 0,
        world_size: int = 1,
        transform: Callable[[Batch], Batch] | None = None,
        threads: int | None = None,
        prefetch: int = 4,
        max_bytes: int = 2**30,
        errors: Errors = "raise",
        **foreign: Never,
    ) -> None:
        refuse(foreign)
        world = whole("world_size", world_size, 1)
        own = whole("rank", rank, 0, world - 1)
        super().__init__(
            dataset,
            batch_size,
            order=order,
            seed=seed,
            fields=fields,
            epoch_len=epoch_len,
            last=last,
            threads=threads,
            prefetch=prefetch,
            max_bytes=max_bytes,
            errors=errors,
            topology=lambda: (own, world),
            allocate=None,
            deliver=arrays if transform is None else _after(callback("transform", transform)),
        )
        self._settle()


def _after(transform: Callable[[Batch], Batch]) -> Callable[[_native.Batch], Batch]:
    def deliver(batch: _native.Batch) -> Batch:
        transformed = transform(arrays(batch))
        if transformed is None:
            raise TypeError("transform returned None; return the batch, also where it was changed in place")
        return transformed

    return deliver
