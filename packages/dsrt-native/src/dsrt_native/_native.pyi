"""The native engine; private to the DSRT packages."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import CapsuleType

_Asked: TypeAlias = list[tuple[str, str | None]]
_FieldDescription: TypeAlias = tuple[str, str, str, tuple[int | None, ...], str]

__version__: str
__build_profile__: str

@final
class Batch:
    """Many samples in one buffer, which memoryview() and NumPy see through the buffer protocol."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def memory(self) -> Any:
        """The object whose memory was lent for this batch, or None: the memory is the engine's own."""
    @property
    def columns(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Pairs of a name and a layout; places are in bytes from the start of the buffer."""
    def strings(self, column: int) -> list[str | bytes | None]:
        """The strings of a column as a list of str, or bytes, or None for null."""

@final
class Writer:
    """Writes a cache."""

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        fields: list[dict[str, Any]],
        metadata: list[tuple[str, str]],
        fingerprint: str | None,
        attributes: bytes,
        samples_per_shard: int,
        shard_bytes: int,
        replace: bool,
        threads: int,
        earlier: str,
    ) -> Writer: ...
    @property
    def count(self) -> int: ...
    @property
    def durable(self) -> int:
        """Samples that survive a crash; while another thread appends, and after the end, as last known."""
    @property
    def resumed(self) -> int: ...
    @property
    def restarted(self) -> str | None: ...
    def append(self, sample: dict[str, Any]) -> None: ...
    def append_batch(self, columns: object) -> None:
        """Appends the samples of a table, or of a dict of pairs: a word and what it says is there."""
    def publish(self) -> tuple[int, str, list[str]]:
        """Number of samples, digest in hexadecimal, and warnings."""
    @property
    def outcome(self) -> tuple[Literal["kept", "removed", "published", "unsure"], int, bool] | None:
        """Once it has ended: what became of how many samples, and whether an exception said so already."""
    def abort(self) -> None: ...

@final
class ArrowStream:
    """Record batches for the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...

@final
class Cache:
    """An open cache."""

    @staticmethod
    def open(path: str, verify: bool, io: Literal["auto", "mmap", "pread"]) -> Cache: ...
    def __len__(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def io(self) -> Literal["mmap", "pread"]:
        """How its files are read."""
    @property
    def name(self) -> str: ...
    @property
    def cache_id(self) -> int: ...
    @property
    def digest(self) -> str: ...
    def fields(self) -> list[_FieldDescription]:
        """Name, kind, dtype, shape and codec of each payload field."""
    def columns(self) -> list[tuple[str, str]]:
        """Name and type of each metadata column."""
    def lengths(self, field: int) -> memoryview:
        """Elements of each record of a field, as int64."""
    def slice(self, field: int, start: int, stop: int) -> memoryview | None:
        """The records of a fixed field in one mapped shard, or None where there is no such."""
    def metadata_stream(self) -> ArrowStream | None:
        """The metadata columns as they are stored; None where there are none."""
    def close(self) -> None: ...

@final
class Population:
    """Rows over caches."""

    def __new__(
        cls,
        caches: list[Cache],
        rows: NDArray[np.uint64] | None = None,
        weights: NDArray[np.float64] | None = None,
        columns: object = None,
    ) -> Population: ...
    @staticmethod
    def from_arrow(caches: list[Cache], table: object) -> Population: ...
    def with_weights(self, weights: NDArray[np.float64] | None) -> Population: ...
    def __len__(self) -> int: ...
    def fields(self) -> list[_FieldDescription]:
        """Name, kind, dtype, shape and codec of each payload field that every cache has."""
    def columns(self) -> list[tuple[str, str]]:
        """Name and type of each metadata and extra column."""
    def kinds(self, fields: _Asked | None) -> list[tuple[str, bool]]:
        """Name of each column of a sample, and whether it is a payload field."""
    def sample(self, row: int, fields: _Asked | None) -> tuple[list[tuple[str, bool]], Batch]:
        """One sample: its columns as `kinds` gives them, and a batch of it alone, without its nulls."""
    def check(self, fields: _Asked) -> None:
        """Raises where a name is unknown, or a dtype cannot be delivered."""
    def dense(
        self, fields: _Asked | None, mask: bool
    ) -> list[tuple[str, tuple[str, tuple[int, ...]] | None]]:
        """Name of each column of a batch, with elements and shape of a sample; None where these differ."""
    def gather(
        self,
        rows: NDArray[np.uint64],
        fields: _Asked | None,
        mask: bool,
        allocate: Callable[[int], object] | None,
    ) -> Batch: ...
    def gather_into(
        self, rows: NDArray[np.uint64], fields: _Asked | None, mask: bool, arrays: list[NDArray[np.uint8]]
    ) -> None:
        """Fills arrays of bytes, one for each column of the batch, which are all dense."""
    def rows(self) -> memoryview | None:
        """The rows as int64 places in the concatenation of the caches; None for all of them in order."""
    def weights(self) -> memoryview | None:
        """The weights as float64."""
    def rows_digest(self) -> str: ...
    def weights_digest(self) -> str | None: ...

@final
class Pass:
    """What `Loader.next` goes on with; begins at its first call."""

    @staticmethod
    def window() -> Pass: ...
    @staticmethod
    def steps(count: int | None) -> Pass: ...

@final
class Loader:
    """Streams batches."""

    def __new__(
        cls,
        population: Population,
        batch_size: int,
        *,
        order: str | None,
        seed: int,
        fields: _Asked | None,
        epoch_len: int | None,
        last: str | None,
        threads: int,
        prefetch: int,
        max_bytes: int,
        mask: bool,
        allocate: Callable[[int], object] | None,
    ) -> Loader: ...
    def __len__(self) -> int: ...
    @property
    def has_topology(self) -> bool: ...
    def set_topology(self, rank: int, world_size: int) -> None: ...
    def next(self, taken: Pass) -> Batch | None:
        """The next batch, or None at the end."""
    @property
    def position(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    def seek(self, position: int) -> None: ...
    def set_epoch(self, epoch: int) -> bool:
        """Whether a loaded position was left."""
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any], strict: bool) -> list[str]:
        """What differs, where it is not refused."""
    def reweight(self, weights: NDArray[np.float64]) -> None: ...
    def weights(self) -> memoryview | None: ...
    def stats(self) -> tuple[int, int, float, float, float, float, int, tuple[tuple[int, int, str], ...]]: ...
    def close(self) -> None: ...
    def end(self) -> None:
        """Close it, and wait for the threads whatever signal comes."""

@final
class Sampler:
    def __new__(
        cls, order: str, n: int, seed: int, weights: NDArray[np.float64] | None = None
    ) -> Sampler: ...
    def fill(self, start: int, out: NDArray[np.int64]) -> None:
        """Writes the rows at `start` and the positions behind it to an array that nobody else has yet."""

def cpus() -> int:
    """The CPUs that this process may use, by affinity and by the limits of its control group."""

def leave_locks_to_parent() -> None:
    """In a child of a fork: let go of the copies of the parent's locks, so that they end with the parent."""

def tidy(path: str | PathLike[str]) -> None:
    """Removes what a writer left beside a cache that died just after publishing it; fails silently."""

def left_beside(path: str | PathLike[str]) -> tuple[Path, int, str | None, bool, bool] | None:
    """What a build left beside a target, if there is something.

    The directory, how many samples are durable, the same in words, whether they can be gone on from, and
    whether the target is what was built.
    """

def merge(
    parts: list[str],
    path: str | PathLike[str],
    *,
    link: bool,
    fingerprint: str | None,
    attributes: bytes,
) -> list[str]:
    """Puts caches together as one; returns warnings."""

def verify(
    path: str | PathLike[str],
    *,
    level: str,
    part: tuple[int, int],
    rate: float | None,
    threads: int,
    progress: Callable[[int, int], object] | None,
) -> tuple[list[tuple[str, str | None, int | None, int | None, str, int]], list[tuple[str, int]]]:
    """Every problem of a cache: rule, field, shard, sample, message, how many it stands for unlisted.

    Beside them the files that the system refused to read, with its error number.
    """

def train_dictionary(records: list[bytes], size: int) -> bytes:
    """A dictionary of at most `size` bytes for records that resemble these."""
