"""What a reader must offer to be asked for its answers."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

__all__ = ["CacheReader", "HasDigests", "OpenCache"]


class CacheReader(Protocol):
    """One open cache. Each method may raise an exception with an attribute `rule` for what it refuses.

    An attribute `cache_id`, an int, is compared where there is one and it is not None.
    """

    def __len__(self) -> int:
        """Return the number of samples."""
        ...

    def record(self, field: str, sample: int) -> tuple[tuple[int, ...], bytes]:
        """Return the shape of a record and its bytes, in C order and little-endian.

        The shape of bytes and text is (length,).
        """
        ...

    def column(self, name: str) -> list[bytes | None]:
        """Return a metadata column, one value per row, None for null.

        A number is its little-endian bits, a bool one byte 00 or 01, a date 4 bytes, a timestamp or duration
        8 bytes; a string is its UTF-8 and a binary itself.
        """
        ...


@runtime_checkable
class HasDigests(Protocol):
    """What a reader may offer beside, so that it need not hand out every record of a large field.

    Both may raise as those of `CacheReader` do.
    """

    def field_digest(self, field: str) -> str | None:
        """Return the digest of all records of a field as `expectation.Digest` makes it, or None."""
        ...

    def column_digest(self, name: str) -> str | None:
        """Return the digest of all values of a column, or None."""
        ...


OpenCache: TypeAlias = Callable[[str], CacheReader]
"""Opens the cache in a directory, or raises an exception with an attribute `rule`, such as ``"R033"``."""
