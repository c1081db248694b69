"""Access to the files of one cache, through a handle of its directory where the platform has those."""

import errno
import os
import stat
from types import TracebackType

from dsrt_format.rules import Violation

__all__ = ["MAX_MANIFEST_BYTES", "CacheDirectory", "CacheFile"]

MAX_MANIFEST_BYTES = 64 << 20

# What is not there or is no file. Other errors, such as EACCES and EIO, are the caller's to see.
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG})
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class CacheFile:
    """A regular file of a cache, open for reading; a context manager that closes it."""

    def __init__(self, descriptor: int, name: str, length: int) -> None:
        self._file = os.fdopen(descriptor, "rb", buffering=0)
        self._name = name
        self.length = length

    def read(self, start: int, count: int) -> bytes:
        """Return `count` bytes from offset `start`.

        Raises:
            Violation: R030, the file has become shorter since it was opened.
        """
        self._file.seek(start)
        parts = []
        left = count
        while left and (part := self._file.read(min(left, 1 << 30))):
            parts.append(part)
            left -= len(part)
        if left:
            raise Violation(
                "R030", f"{self._name} has become shorter than its {self.length} bytes while in use"
            )
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def fileno(self) -> int:
        """Return the descriptor, to be mapped."""
        return self._file.fileno()

    def __enter__(self) -> "CacheFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


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
                raise Violation("R000", "there is no cache: the path is not a directory") from None

    def manifest_bytes(self) -> bytes:
        """Return the content of manifest.json.

        Raises:
            Violation: R000 or R001.
            OSError: The file cannot be read.
        """
        try:
            descriptor = self._open("manifest.json")
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
            raise Violation("R000", "there is no cache: the directory holds no manifest.json") from None
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise Violation("R000", "there is no cache: manifest.json is not a regular file")
        with CacheFile(descriptor, "manifest.json", found.st_size) as file:
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
            raise Violation(
                "R030", f"{name} is missing; copy it again from where the cache came from"
            ) from None
        _check_found(name, length, found)

    def open(self, name: str, length: int) -> CacheFile:
        """Open a file of the length that the manifest says.

        Raises:
            Violation: R030.
            OSError: The file cannot be opened.
        """
        self.check(name, length)
        descriptor = self._open(name)
        try:
            _check_found(name, length, os.fstat(descriptor))
        except Violation:
            os.close(descriptor)
            raise
        return CacheFile(descriptor, name, length)

    def _open(self, name: str) -> int:
        if self._handle is None:
            return os.open(os.path.join(self.path, name), _FLAGS)
        return os.open(name, _FLAGS, dir_fd=self._handle)

    def __enter__(self) -> "CacheDirectory":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _check_found(name: str, length: int, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Violation("R030", f"{name} is not a regular file")
    if found.st_size != length:
        raise Violation(
            "R030",
            f"{name} has {found.st_size} bytes, the manifest says {length}; "
            "copy it again from where the cache came from",
        )
