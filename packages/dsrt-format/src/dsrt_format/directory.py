"""Access to the files of one cache, through a handle of its directory where the platform has those."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TypeVar

from dsrt_format.rules import Violation

__all__ = ["MAX_MANIFEST_BYTES", "MAX_TRIES", "PIECE_BYTES", "CacheDirectory", "CacheFile", "in_directory"]

T = TypeVar("T")

MAX_MANIFEST_BYTES = 64 << 20

PIECE_BYTES = 4 << 20
"""In pieces of so many bytes a file is read where it need not be in memory as a whole."""

# What one call of the system reads as a rule; no platform reads more than 2 GiB.
_ONE_CALL_BYTES = 1 << 30

MAX_TRIES = 100
"""How often a path is followed that leads to another directory again: each time a rebuild was published."""

# What is not there or is no file. Other errors, such as EACCES and EIO, are the caller's to see.
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG})
_COPY_AGAIN = "copy it again from where the cache came from"
_BUILD_FIRST = "check the path, or build the cache first"
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class CacheFile:
    """A file of a cache, open for reading; a context manager that closes it."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        try:
            found = os.fstat(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        self.is_regular = stat.S_ISREG(found.st_mode)
        self.length = found.st_size

    def read(self, start: int, count: int) -> bytes:
        """Return `count` bytes from offset `start`.

        Raises:
            Violation: R030, the file has become shorter since it was opened.
            OSError: The file cannot be read.
            MemoryError: There is no memory for so many bytes.
        """
        try:
            os.lseek(self._descriptor, start, os.SEEK_SET)
            data = os.read(self._descriptor, count) if count <= _ONE_CALL_BYTES else b""
            if len(data) < count:
                # All memory is taken before the first byte is read, because a hole can be larger than what
                # there is: memory taken piece by piece is given until the system kills the process.
                with open(self._descriptor, "rb", closefd=False) as file:
                    file.seek(start)
                    data = file.read(count)
        except OSError as error:
            # The system calls on a descriptor do not say of which file.
            error.filename = self._name
            raise
        if len(data) < count:
            raise Violation(
                "R030", f"{self._name} has become shorter than its {self.length} bytes while in use"
            )
        return data

    def pieces(self, start: int, count: int) -> Iterator[bytes]:
        """Yield `count` bytes from offset `start` in pieces of at most `PIECE_BYTES`.

        Raises:
            Violation: As `read` does.
            OSError: Likewise.
        """
        for at in range(start, start + count, PIECE_BYTES):
            yield self.read(at, min(PIECE_BYTES, start + count - at))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> "CacheFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class CacheDirectory:
    """The directory of a cache; a context manager.

    Files are opened relative to a handle, so that a path swapped meanwhile cannot mix two builds.

    Args:
        path: The directory.

    Raises:
        Violation: R000, there is no directory.
        OSError: It cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._handle: int | None = None
        if os.open in os.supports_dir_fd:
            try:
                self._handle = os.open(self.path, _FLAGS | os.O_DIRECTORY)
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                found = "nothing is there" if error.errno == errno.ENOENT else "the path is no directory"
                raise Violation("R000", f"there is no cache: {found}; {_BUILD_FIRST}") from None

    def is_replaced(self) -> bool:
        """Return whether the path leads to another directory by now; False where nothing is there."""
        if self._handle is None:
            return False
        try:
            # While this one is open, no other can have its number by chance.
            return not os.path.samestat(os.stat(self.path), os.fstat(self._handle))
        except OSError:
            return False

    def manifest_bytes(self) -> bytes:
        """Return the content of manifest.json.

        Raises:
            Violation: R000 or R001.
            OSError: The file cannot be read.
        """
        absent = f"there is no cache: the directory holds no manifest.json; {_BUILD_FIRST}"
        with self._open("manifest.json", Violation("R000", absent)) as file:
            if not file.is_regular:
                raise Violation("R000", "there is no cache: manifest.json is not a regular file")
            if file.length > MAX_MANIFEST_BYTES:
                raise Violation("R001", f"manifest.json has {file.length} bytes, at most 64 MiB are allowed")
            return file.read(0, file.length)

    def check(self, name: str, length: int) -> None:
        """Check that a file is there, regular and as long as the manifest says.

        Raises:
            Violation: R030.
            OSError: The file cannot be looked at.
        """
        try:
            if self._handle is None:
                found = os.stat(os.path.join(self.path, name))
            else:
                found = os.stat(name, dir_fd=self._handle)
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
            raise _missing(name) from None
        _check_found(name, length, stat.S_ISREG(found.st_mode), found.st_size)

    def open(self, name: str, length: int) -> CacheFile:
        """Open a file of the length that the manifest says.

        Raises:
            Violation: R030.
            OSError: The file cannot be opened.
        """
        # Looked at before it is opened, because opening alone wakes some devices.
        self.check(name, length)
        file = self._open(name, _missing(name))
        try:
            _check_found(name, length, file.is_regular, file.length)
        except Violation:
            file.close()
            raise
        return file

    def entries(self, name: str = "") -> Iterator[os.DirEntry[str]]:
        """Yield what lies in the directory or in one inside it; nothing if that is none or a link.

        Args:
            name: The path inside, or "" for the directory itself.

        Raises:
            OSError: The directory cannot be listed.
        """
        if self._handle is None:
            place = os.path.join(self.path, name)
            if os.path.isdir(place) and not os.path.islink(place):
                with os.scandir(place) as found:
                    yield from found
            return
        try:
            flags = _FLAGS | os.O_DIRECTORY | os.O_NOFOLLOW
            descriptor = os.open(name or ".", flags, dir_fd=self._handle)
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
            return
        try:
            with os.scandir(descriptor) as found:
                yield from found
        except OSError as error:
            error.filename = name or "."
            raise
        finally:
            os.close(descriptor)

    def _open(self, name: str, absent: Violation) -> CacheFile:
        try:
            if self._handle is None:
                descriptor = os.open(os.path.join(self.path, name), _FLAGS)
            else:
                descriptor = os.open(name, _FLAGS, dir_fd=self._handle)
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
            raise absent from None
        return CacheFile(descriptor, name)

    def __enter__(self) -> "CacheDirectory":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def in_directory(path: str | os.PathLike[str], read: Callable[[CacheDirectory], T]) -> T:
    """Return what `read` makes of the directory of a cache.

    A rebuild exchanges two directories and removes the old one, file by file. Whoever opened that one just
    before finds less in it than there was, which says nothing of the cache that is at the path now. So where
    `read` fails and its directory was replaced meanwhile, it is called again with the new one.

    Args:
        path: The directory.
        read: Called with the open directory.

    Raises:
        Violation: R000, there is no directory.
        OSError: It cannot be opened.
        Exception: What `read` raises where the directory is the one at the path.
    """
    for _ in range(MAX_TRIES - 1):
        with CacheDirectory(path) as directory:
            try:
                return read(directory)
            except Exception:
                if not directory.is_replaced():
                    raise
    with CacheDirectory(path) as directory:
        return read(directory)


def _missing(name: str) -> Violation:
    return Violation("R030", f"{name} is missing; {_COPY_AGAIN}")


def _check_found(name: str, length: int, is_regular: bool, found: int) -> None:
    if not is_regular:
        raise Violation("R030", f"{name} is not a regular file; {_COPY_AGAIN}")
    if found != length:
        raise Violation("R030", f"{name} has {found} bytes, the manifest says {length}; {_COPY_AGAIN}")
