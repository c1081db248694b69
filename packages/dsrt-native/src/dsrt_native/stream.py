"""What every loader does: passes, steps, position, state and figures over the engine's stream of batches."""

import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrt_format import StateMismatchError
from dsrt_native import _native
from dsrt_native.arguments import whole, word
from dsrt_native.batch import Batch
from dsrt_native.columns import weights_of
from dsrt_native.gather import Errors, Fields, asked_of, masks
from dsrt_native.population import HasPopulation, Population
from dsrt_native.threads import default_threads

__all__ = ["Last", "LoaderBase", "LoaderStats", "Order"]

Order: TypeAlias = Literal["sequential", "uniform", "weighted", "permuted"]
Last: TypeAlias = Literal["drop", "pad", "short"]


@dataclass(frozen=True)
class LoaderStats:
    """What a loader has done so far: is data the bottleneck?

    Attributes:
        batches: Batches handed out, and those whose error was raised in their place.
        bytes: Bytes in memory of those handed out.
        seconds: From when the first batch was asked for to when the last one was handed out.
        wait_seconds: Of those, what the consumer spent waiting for batches.
        wait_p50: Half of the last 1,024 batches were waited for no longer than this, in seconds.
        wait_p95: Likewise for 95 % of them.
        queue_depth: Batches that are ready now.
        damaged: ``(cache_id, sample_id, field)`` of each record that was masked because of damage, once.
    """

    batches: int
    bytes: int
    seconds: float
    wait_seconds: float
    wait_p50: float
    wait_p95: float
    queue_depth: int
    damaged: tuple[tuple[int, int, str], ...]


class LoaderBase:
    """A loader but for three functions, which say where it runs, in what memory, and what it hands out.

    Args:
        topology: Called once, at the first `len` or pass, if not by `_settle` before; returns rank and world
            size.
        allocate: Called on threads of the engine with a size in bytes; returns an object with a writable
            buffer of that size, 64-byte aligned, for one batch. None: the engine's own memory. It lives until
            the loader is closed or let go of, so it must not refer to the loader itself.
        deliver: Called on the consumer's thread, once a batch, with the native batch.
    """

    def __init__(
        self,
        dataset: HasPopulation,
        batch_size: int,
        *,
        order: Order | None,
        seed: int,
        fields: Fields | None,
        epoch_len: int | None,
        last: Last | None,
        threads: int | None,
        prefetch: int,
        max_bytes: int,
        errors: Errors,
        topology: Callable[[], tuple[int, int]],
        allocate: Callable[[int], object] | None,
        deliver: Callable[[_native.Batch], Batch],
    ) -> None:
        population = getattr(dataset, "population", None)
        if not isinstance(population, Population):
            raise TypeError(f"dataset: expected an opened Cache or Dataset, or a Population, not {dataset!r}")
        self._dataset = dataset
        self._rows = len(population)
        self._topology = topology
        self._settled = False
        self._deliver = deliver
        self._native = _native.Loader(
            population._native,
            whole("batch_size", batch_size, 1),
            order=word("order", order, ("sequential", "uniform", "weighted", "permuted")),
            seed=whole("seed", seed, 0, 2**64 - 1),
            fields=asked_of(fields),
            epoch_len=None if epoch_len is None else whole("epoch_len", epoch_len, 1),
            last=word("last", last, ("drop", "pad", "short")),
            threads=default_threads() if threads is None else whole("threads", threads, 1, 1024),
            prefetch=whole("prefetch", prefetch, 1),
            max_bytes=whole("max_bytes", max_bytes, 1),
            mask=masks(errors),
            allocate=allocate,
        )
        if allocate is not None:
            # At the interpreter's exit, too: a thread of the engine may be asking Python for memory, and then
            # the interpreter must not go away under it.
            weakref.finalize(self, self._native.end)

    def __iter__(self) -> Iterator[Batch]:
        """Return one pass: the batches of a window. It begins at its first `next`."""
        return _Pass(self, _native.Pass.window())

    def steps(self, n: int | None = None) -> Iterator[Batch]:
        """Return the next `n` batches of the stream, or endlessly many.

        No window cuts them, nothing is dropped or padded. They begin at the first `next`, where the stream
        stands then, and end the pass that was running.

        Raises:
            ValueError: `n` is negative.
        """
        count = None if n is None else whole("n", n, 0)
        return _Pass(self, _native.Pass.steps(count))

    def __len__(self) -> int:
        """Return the number of batches of a whole window, on this rank."""
        self._settle()
        return len(self._native)

    @property
    def dataset(self) -> HasPopulation:
        """What the loader was given; its population was read once, then."""
        return self._dataset

    @property
    def position(self) -> int:
        """The next position of the stream, over all ranks, after the last batch handed out."""
        return self._native.position

    @property
    def epoch(self) -> int:
        """The window that `position` lies in: position div epoch_len."""
        return self._native.epoch

    def seek(self, position: int) -> None:
        """Go on at a position of the stream, 0 to 2^62-1. Ends the pass that is running.

        Raises:
            ValueError: It is out of that range.
            RuntimeError: The loader is closed.
        """
        self._native.seek(whole("position", position, 0, 2**62 - 1))

    def set_epoch(self, epoch: int) -> None:
        """Go on at the start of a window, as trainers ask for before each epoch.

        Without effect right after `load_state_dict` or `seek` where the position lies in that window, so that
        a resumed epoch is not begun anew. Warns where a loaded position in another window is left.

        Raises:
            ValueError: The epoch is negative or its start is beyond 2^62.
            RuntimeError: The loader is closed.
        """
        if self._native.set_epoch(whole("epoch", epoch, 0, 2**62 - 1)):
            warnings.warn(
                f"set_epoch({epoch}) leaves the position that was loaded; range(loader.epoch, ...) resumes",
                stacklevel=2,
            )

    def state_dict(self) -> dict[str, Any]:
        """Return all there is to resume: str, int, list and None only, so it fits into JSON.

        Its position is as of the last batch handed out, whatever was prefetched. The same on every rank, and
        valid for any batch size, world size and number of threads.
        """
        return self._native.state_dict()

    def load_state_dict(self, state: Mapping[str, Any], *, strict: bool = True) -> None:
        """Go on where a state was saved. Ends the pass that is running.

        Args:
            state: What `state_dict` returned.
            strict: False keeps the position and only warns where the state belongs to another stream.

        Raises:
            StateMismatchError: Order, seed, epoch_len, rows or weights differ, or it is no state; the message
                says which.
            TypeError: It is no mapping.
            RuntimeError: The loader is closed.
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"state: expected what state_dict() returned, not {state!r}")
        for name, value in state.items():
            if isinstance(value, bool):  # which the engine would take for 0 or 1
                raise StateMismatchError(f"this is no state of a loader: {name!r} is {value}")
        for warning in self._native.load_state_dict(dict(state), strict):
            warnings.warn(warning, stacklevel=2)

    def reweight(self, weights: ArrayLike) -> None:
        """Draw by other weights from the next batch on; the position goes on.

        Every rank calls it at the same step.

        Args:
            weights: float64, finite, >= 0, one per row, at least one > 0.

        Raises:
            ValueError: A weight is negative or not finite, or all are zero; or the order is not weighted.
            SchemaError: There are not as many as rows.
            RuntimeError: The loader is closed.
        """
        self._native.reweight(weights_of(weights))

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weights in force, read-only float64 ``[rows]``; None where the order is not weighted."""
        weights = self._native.weights()
        return None if weights is None else np.frombuffer(weights, np.float64)

    def stats(self) -> LoaderStats:
        """Return what the loader has done so far."""
        return LoaderStats(*self._native.stats())

    def close(self) -> None:
        """End the running pass and the threads; position, epoch, state_dict and stats go on working.

        It waits for the threads, each of which soon gives up the batch it works on. A signal whose handler
        raises, as that of Ctrl-C does, ends the wait: the threads then end on their own.
        """
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._rows} rows, at position {self.position}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a loader holds threads and a place in a stream and cannot be pickled; send the caches and "
            "state_dict(), make a loader there and call its load_state_dict"
        )

    def _begin(self) -> None:
        """A pass begins."""
        self._settle()

    def _settle(self) -> None:
        """Fix rank and world size, the first time that something depends on them."""
        if not self._settled:
            if not self._native.has_topology:
                self._native.set_topology(*self._topology())
            self._settled = True


class _Pass(Iterator[Batch]):
    """The batches of one pass or of some steps. Not a generator: an exception must not end it."""

    def __init__(self, loader: LoaderBase, native: _native.Pass) -> None:
        self._loader = loader
        self._native = native
        self._is_new = True

    def __next__(self) -> Batch:
        if self._is_new:
            self._loader._begin()
            self._is_new = False
        batch = self._loader._native.next(self._native)
        if batch is None:
            raise StopIteration
        try:
            return self._loader._deliver(batch)
        except StopIteration as error:
            # It would end the pass as if there were no more batches. Python's generators do the same.
            raise RuntimeError("the transform raised StopIteration") from error
