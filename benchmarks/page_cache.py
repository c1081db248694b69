"""The kernel's cache of files: emptied of some, filled with some, and asked what it has of them."""

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np

from benchmarks.peer import Cannot

PAGE = mmap.PAGESIZE
_TRIES = 5
_PIECE = 1 << 20
_LACKING = 0.01  # of all pages: the kernel may always have use for some

_libc = ctypes.CDLL(None, use_errno=True)


def evict(folder: Path) -> None:
    """Make all files below it durable, and have the kernel forget their content.

    Raises:
        Cannot: It has not; a file system in memory cannot, and mapped pages stay.
    """
    for _ in range(_TRIES):
        drop(folder)
        if not (left := sum(map(resident, _files(folder)))):
            return
    raise Cannot(f"{left} pages of its files stay in memory")


def drop(folder: Path) -> None:
    """Make all files below it durable, and have the kernel forget of them what it can."""
    for path in _files(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(folder: Path) -> None:
    """Read all files below it of which a page is missing.

    Raises:
        Cannot: They do not stay in memory.
    """
    files = _files(folder)
    pages = {path: -(-path.stat().st_size // PAGE) for path in files}
    for path in (path for path in files if resident(path) < pages[path]):
        read(path)
    lacking = sum(pages[path] - resident(path) for path in files)
    if lacking > _LACKING * sum(pages.values()):
        raise Cannot(f"{lacking} pages of its files do not stay in memory")


def read(path: Path) -> None:
    """Read a file in pieces, for nothing but that it has been read."""
    piece = bytearray(_PIECE)
    with path.open("rb", buffering=0) as file:
        while file.readinto(piece):
            pass


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]


def resident(path: Path) -> int:
    """How many pages of a file are in memory, by mincore(2)."""
    size = path.stat().st_size
    pages = np.empty(-(-size // PAGE), np.uint8)
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as mapped:
        view = np.frombuffer(mapped, np.uint8)
        start, vector = ctypes.c_void_p(view.ctypes.data), ctypes.c_void_p(pages.ctypes.data)
        failed = _libc.mincore(start, ctypes.c_size_t(size), vector)
        del view  # or the map could not be closed
    if failed:
        raise OSError(ctypes.get_errno(), f"mincore of {path}")
    return int(np.count_nonzero(pages & 1))
