"""What can be built into a cache."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

__all__ = ["Source", "samples_of", "size_of"]


@runtime_checkable
class Source(Protocol):
    """Anything with a name, a schema and samples. No base class is needed.

    Samples come from ``__iter__``, or, where there is none, from ``__getitem__`` with 0, 1, ... up to
    ``__len__``. Each is one flat dict with a value for every field and every metadata column; the schema says
    which is which. A source with ``__len__`` also gets a progress bar that knows its end.

    Optional attributes:
        fingerprint: str that identifies code and inputs, such as `dsrt_format.fingerprint` returns. With it,
            `build` reuses a cache that was built from the same.
        attributes: dict of free JSON, kept with the cache.
        samples_per_shard, shard_bytes: as for `CacheWriter`.
    """

    @property
    def name(self) -> str:
        """The name of the cache: 1 to 63 letters, digits, ``_`` and ``-``."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Payload fields by name: `dsrt_format.Dense`, `Ragged`, `Bytes` and `Text`."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """Types of the metadata columns by name, as for `CacheWriter`; empty if there are none."""


def samples_of(source: Any) -> Iterator[dict[str, Any]]:
    """Return an iterator over the samples of a source.

    Raises:
        TypeError: The source has neither ``__iter__`` nor ``__getitem__`` and ``__len__``.
    """
    kind = type(source)
    if hasattr(kind, "__iter__"):
        return iter(source)
    if hasattr(kind, "__getitem__") and hasattr(kind, "__len__"):
        return map(source.__getitem__, range(len(source)))
    raise TypeError(f"{kind.__qualname__} has no samples: it needs __iter__, or __getitem__ and __len__")


def size_of(source: Any) -> int | None:
    """Return how many samples a source says it has, or None if it does not say."""
    return len(source) if hasattr(type(source), "__len__") else None
