"""The loader of dsrt-native, delivering tensors on every rank of a distributed job."""

from collections.abc import Callable
from typing import Never

from dsrt_native import HasPopulation, _native
from dsrt_native.arguments import callback, refuse
from dsrt_native.batch import Batch, arrays
from dsrt_native.gather import Errors, Fields
from dsrt_native.stream import Last, LoaderBase, Order
from dsrt_native.threads import default_threads
from dsrt_torch import memory, ranks
from dsrt_torch.tensors import converted, tensors, to_torch

__all__ = ["Loader"]


class Loader(LoaderBase):
    """Reproducible batches of tensors: what `dsrt_native.Loader` is for NumPy, with the same methods.

    Every rank makes the same loader and gets its own share of each step. Rank and world size are found at the
    first `len()` or pass: those of the initialised process group, else of torchrun's environment variables
    RANK and WORLD_SIZE, else one process.

    A batch is a dict. Dense fields and numbers are tensors ``[B, ...]`` over memory that belongs to the batch
    alone (writable, not copied), bfloat16 and float8 among them; ragged fields are `RaggedArray`; text and
    string columns are lists of str, bytes lists of bytes. torch lacks times: timestamps and durations come as
    int64 in their unit, dates as int64 days since 1970. `_seed` comes as the int64 of the same bits.

    Args:
        dataset: What to draw from: a `Population`, or anything with a `.population` such as
            `dsrt_meta.Dataset`.
        batch_size: Samples per batch on each rank.
        order: ``"sequential"``, ``"uniform"``, ``"weighted"`` or ``"permuted"``. None: weighted if the
            dataset has weights, else permuted.
        seed: 0 to 2**64 - 1.
        fields: What a batch holds: names of payload fields, metadata and extra columns, and the built-ins
            ``_row`` (the row's number in the dataset), ``_position`` (its place in the stream), ``_seed`` (a
            number drawn for that place), ``_valid``, ``cache_id``, ``sample_id`` and ``weight``. None: all
            fields and columns. A mapping says the dtypes to deliver, too, None for the stored one: tokens
            stored as uint16 come ready for an embedding with ``{"tokens": "int64"}``. Only types that hold
            every value are possible; see `dsrt_native.Population.gather`.
        epoch_len: Samples per epoch over all ranks; the number of rows by default.
        last: What happens to the end of an epoch that fills no step: ``"drop"``, ``"pad"`` (with ``_valid``
            False) or ``"short"`` (one rank only). By default drop, and for the sequential order short on one
            rank and pad on several.
        rank: This process, from 0; with `world_size`. Both None: found as said above. Given, they win.
        world_size: The number of processes.
        transform: Called with each batch as a dict of NumPy arrays, on the consumer's thread; what it returns
            is converted by `to_torch`.
        threads: Threads that read; min(4, CPUs) by default, where processes that torchrun started on the same
            machine share the CPUs.
        prefetch: Batches prepared ahead.
        max_bytes: Bytes prepared ahead; one batch always fits.
        errors: ``"raise"``, or ``"mask"``: damaged samples are zero or empty and ``_valid`` False.
        pin_memory: Whether batches lie in page-locked memory, so that ``.to("cuda", non_blocking=True)``
            overlaps with the program. Without a CUDA device it warns and they stay pageable.

    Raises:
        SchemaError: `fields` names something that is not there, or a dtype that could not hold every value.
        ValueError: Another argument cannot be used, alone or with this dataset; or `last` is ``"short"`` and
            there are several ranks, which the first `len()` or pass says where ranks are found.
        TypeError: An argument has another type.
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
        rank: int | None = None,
        world_size: int | None = None,
        transform: Callable[[Batch], Batch] | None = None,
        threads: int | None = None,
        prefetch: int = 4,
        max_bytes: int = 2**30,
        errors: Errors = "raise",
        pin_memory: bool = False,
        **foreign: Never,
    ) -> None:
        refuse(foreign)
        given = ranks.checked(rank, world_size)
        pin = pin_memory and memory.can_pin()
        super().__init__(
            dataset,
            batch_size,
            order=order,
            seed=seed,
            fields=fields,
            epoch_len=epoch_len,
            last=last,
            threads=default_threads(ranks.local_world_size()) if threads is None else threads,
            prefetch=prefetch,
            max_bytes=max_bytes,
            errors=errors,
            topology=ranks.found if given is None else lambda: given,
            allocate=memory.lend if pin and transform is None else None,
            deliver=tensors if transform is None else _after(callback("transform", transform), pin),
        )
        self._is_found = given is None
        if given is not None:
            self._settle()

    def _begin(self) -> None:
        super()._begin()
        # Its length may have been asked for before there was a process group.
        if self._is_found and (group := ranks.of_group()) is not None:
            self._native.set_topology(*group)


def _after(transform: Callable[[Batch], Batch], pin: bool) -> Callable[[_native.Batch], Batch]:
    # A transform may return arrays of its own as well as the batch's, so pinning comes after it and is a
    # copy.
    def deliver(batch: _native.Batch) -> Batch:
        transformed = transform(arrays(batch))
        return converted(transformed, memory.pinned) if pin else to_torch(transformed)

    return deliver
