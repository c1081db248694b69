"""A bounds-checked reader of FlatBuffers tables, enough to look at Arrow's messages before a library does.

Source of the layout: the FlatBuffers documentation, "FlatBuffers binary format".
"""

import struct
from collections.abc import Iterator

from dsrt_format.rules import Violation

__all__ = ["Table"]


class Table:
    """A table inside a buffer. Fields are named by their number in the schema.

    Args:
        data: The buffer that holds the table.
        position: Where the table begins.

    Raises:
        Violation: R042, here and in every method, where an offset leaves the buffer, is 0 or leads
            to a number that is not aligned to its size.
    """

    def __init__(self, data: memoryview, position: int) -> None:
        self._data = data
        self._position = position
        self._vtable = position - self._unpack("i", position)
        self._vtable_bytes = self._unpack("H", self._vtable)
        # A vtable begins with its own size and the table's, two bytes each: less is no table at all.
        end = self._vtable + self._vtable_bytes
        if self._vtable_bytes < 4 or self._vtable_bytes % 2 or end > len(data):
            raise _outside()

    @classmethod
    def root(cls, data: memoryview) -> "Table":
        """Return the outermost table of a buffer."""
        return cls(data, _unpack(data, "I", 0))

    def has(self, field: int) -> bool:
        """Return whether a field is there; where it leads is not looked at."""
        return self._field(field) is not None

    def scalar(self, field: int, code: str, default: int) -> int:
        """Return a number; `code` is its letter in the `struct` module."""
        at = self._field(field)
        return default if at is None else self._unpack(code, at)

    def table(self, field: int) -> "Table | None":
        """Return a table, or None if it is absent."""
        at = self._field(field)
        return None if at is None else Table(self._data, self._follow(at))

    def text(self, field: int) -> bytes | None:
        """Return the bytes of a string, or None if it is absent."""
        found = self._vector(field, 1)
        if found is None:
            return None
        end = found[0] + found[1]
        if self._unpack("B", end) != 0:
            raise Violation("R042", "metadata.arrow: a string inside a message does not end with a zero")
        return bytes(self._data[found[0] : end])

    def structs(self, field: int, size: int) -> memoryview:
        """Return the bytes of a vector of structs or numbers of that size; absent is empty."""
        found = self._vector(field, size)
        if found is None:
            return self._data[:0]
        start, count = found
        # All of them hold numbers of 8 bytes. Where a list of structs is empty, some writers do not align it.
        if start % 8 and (count or size == 8):
            raise _outside()
        return self._data[start : start + count * size]

    def tables(self, field: int) -> Iterator["Table"]:
        """Return a vector of tables, each of which is looked at when it is its turn; absent is empty."""
        start, count = self._vector(field, 4) or (0, 0)
        return (Table(self._data, self._follow(at)) for at in range(start, start + 4 * count, 4))

    def count(self, field: int) -> int:
        """Return the number of tables in a vector; absent is 0."""
        found = self._vector(field, 4)
        return 0 if found is None else found[1]

    def _field(self, field: int) -> int | None:
        slot = 4 + 2 * field
        if slot + 2 > self._vtable_bytes:
            return None
        offset = self._unpack("H", self._vtable + slot)
        return self._position + offset if offset else None

    def _vector(self, field: int, size: int) -> tuple[int, int] | None:
        at = self._field(field)
        if at is None:
            return None
        start = self._follow(at)
        count = self._unpack("I", start)
        if start + 4 + count * size > len(self._data):
            raise _outside()
        return start + 4, count

    def _follow(self, at: int) -> int:
        offset = self._unpack("I", at)
        # No writer makes it, and libraries differ in whether it is an empty vector or damage.
        if offset == 0:
            raise Violation("R042", "metadata.arrow: an offset inside a message leads to its own place")
        return at + offset

    def _unpack(self, code: str, at: int) -> int:
        return _unpack(self._data, code, at)


def _unpack(data: memoryview, code: str, at: int) -> int:
    size = struct.calcsize("<" + code)
    # A negative offset would count from the end.
    if at < 0 or at % size or at + size > len(data):
        raise _outside()
    return int(struct.unpack_from("<" + code, data, at)[0])


def _outside() -> Violation:
    return Violation("R042", "metadata.arrow: an offset inside a message leaves it or is not aligned")
