"""What can be built into a cache, and how its samples are got at."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from dsrt_format import SchemaError, StaleCacheError

__all__ = ["Source", "check_source", "has_random_access", "miscounted", "optional", "samples_from", "size_of"]


@runtime_checkable
class Source(Protocol):
    """Anything with a name, a schema and samples. No base class is needed.

    Samples come from ``__iter__``, or, where there is none, from ``__getitem__`` with 0, 1, ... up to
    ``__len__``. Each is one flat dict with a value for every field and every metadata column; the schema says
    which is which. A source with ``__len__`` also gets a progress bar that knows its end, and has exactly so
    many samples: to end earlier or later is an error. Worker processes need ``__getitem__`` and ``__len__``,
    and a source that can be pickled. Where there is ``__iter__``, too, both ways give the same samples.

    A build that goes on after a crash asks for the samples behind the durable ones: by ``iter_from(i)`` where
    the source has it (an iterable of the samples i, i + 1, ...), else by ``__getitem__``, else by iterating
    from the start and throwing away what is durable already. A source must give the same samples in the same
    order as long as its fingerprint is the same.

    Optional attributes:
        fingerprint: str that identifies code and inputs, such as `dsrt_format.fingerprint` returns. With it,
            `build` reuses a cache that was built from the same, and goes on where a crashed build stopped.
        attributes: dict of free JSON, kept with the cache.
        samples_per_shard, shard_bytes: as for `CacheWriter`. A crash costs at most one shard: set
            `samples_per_shard` small where samples take long to make.
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


def check_source(source: Any) -> None:
    """Refuse what is no source.

    Raises:
        TypeError: It is a class; or it lacks a name or a schema, or has neither ``__iter__`` nor
            ``__getitem__`` and ``__len__``.
    """
    if isinstance(source, type):
        raise TypeError(f"{source.__qualname__} is a class; give an instance of it, {source.__qualname__}()")
    kind = type(source)
    for attribute in ("name", "fields", "metadata"):
        if not hasattr(source, attribute):
            raise TypeError(f"{kind.__qualname__} is no source: it has no attribute {attribute!r}")
    if not (hasattr(kind, "__iter__") or has_random_access(source)):
        raise TypeError(f"{kind.__qualname__} has no samples: it needs __iter__, or __getitem__ and __len__")


def optional(source: Any, name: str) -> Any:
    """Return an optional attribute of a source, or None where it has none.

    Raises:
        AttributeError: It is a property, and its code raises this: to go on without it would be to keep
            nothing after a crash, for instance.
    """
    try:
        return getattr(source, name)
    except AttributeError:
        if hasattr(type(source), name):
            raise
        return None


def has_random_access(source: Any) -> bool:
    """Return whether any sample can be asked for by its number."""
    return hasattr(type(source), "__getitem__") and hasattr(type(source), "__len__")


def size_of(source: Any, start: int) -> int | None:
    """Return how many samples a source says it has, or None if it does not say.

    Args:
        source: See `Source`.
        start: So many samples are durable from an earlier run.

    Raises:
        StaleCacheError: It has fewer than these.
    """
    if not hasattr(type(source), "__len__"):
        return None
    size = len(source)
    if size < start:
        raise _shrunk(source, size, start)
    return size


def samples_from(source: Any, start: int) -> Iterator[dict[str, Any]]:
    """Return an iterator over the samples of a source from number `start` on.

    Raises:
        StaleCacheError: It has fewer than `start`. A source that can only be gone through from its start
            says so at the first `next`.
        TypeError: It is its own iterator.
    """
    size = size_of(source, start)
    if start and hasattr(source, "iter_from"):
        return iter(source.iter_from(start))
    if hasattr(type(source), "__iter__") and not (start and has_random_access(source)):
        return _without(source, start) if start else _anew(source)
    return _numbered(source, range(start, size or 0))


def miscounted(source: Any, size: int | None, found: str) -> SchemaError:
    """Return the error about a source that has more or fewer samples than it says.

    One that ends too early, because an iterator inside of it ran out for instance, would be published as if
    it were whole.
    """
    return SchemaError(
        f"the source {source.name!r} says by __len__ that it has {size} samples, and it {found}. One of the "
        "two is wrong; a source that does not know how many it has goes without __len__"
    )


def _numbered(source: Any, numbers: range) -> Iterator[dict[str, Any]]:
    # Not `map`: a StopIteration of the source would end it as if there were no more samples.
    for number in numbers:
        yield source[number]


def _anew(source: Any) -> Iterator[dict[str, Any]]:
    samples: Iterator[dict[str, Any]] = iter(source)
    if samples is source:
        # Nobody knows where it stands: a second run in this process would take later samples for the first.
        raise TypeError(
            f"{type(source).__qualname__}.__iter__ returns the source itself, which can be gone through only "
            "once; have it begin anew each time, as a function with yield does"
        )
    return samples


def _without(source: Any, start: int) -> Iterator[dict[str, Any]]:
    samples = _anew(source)
    drawn = sum(1 for _ in islice(samples, start))
    if drawn < start:
        raise _shrunk(source, drawn, start)
    yield from samples


def _shrunk(source: Any, size: int, start: int) -> StaleCacheError:
    return StaleCacheError(
        f"the source {source.name!r} has {size} samples, and {start} are durable from an earlier run: it "
        "changed, and its fingerprint did not. Give it a new fingerprint, or start over with resume=False"
    )
