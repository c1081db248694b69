"""The native engine; private to the DSRT packages."""

from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

__version__: str
__build_profile__: str

@final
class Batch:
    """Many samples in one buffer, which memoryview() and NumPy see through the buffer protocol."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def memory(self) -> Buffer | None:
        """The object whose memory was lent for this batch, or None: the memory is the engine's own."""
    @property
    def columns(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Pairs of a name and a layout; places are in bytes from the start of the buffer."""
    def strings(self, column: int) -> list[str | bytes | None]:
        """The strings of a column as a list of str, or bytes, or None for null."""

@final
class Writer:
    """Writes a cache, one sample at a time."""

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
    ) -> Writer: ...
    @property
    def count(self) -> int: ...
    def append(self, sample: dict[str, Any]) -> None: ...
    def publish(self) -> tuple[int, str, list[str]]:
        """Number of samples, digest in hexadecimal, and warnings."""
    def abort(self) -> None: ...

def order_rows(
    order: str, n: int, seed: int, start: int, count: int, weights: NDArray[np.float64] | None = None
) -> memoryview:
    """The rows at `count` positions from `start` on, as int64."""
