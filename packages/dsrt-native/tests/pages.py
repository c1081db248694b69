"""The pages of a file that the kernel has in memory."""

import ctypes
import mmap
import os
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)


def resident(path: Path) -> list[bool]:
    """Whether each page of the file is there. Looking reads nothing."""
    size = path.stat().st_size
    if size == 0:
        return []
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as pages:
        # Private and writable only so that ctypes tells the address.
        start = ctypes.c_char.from_buffer(pages)
        there = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        if _libc.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), there):
            raise OSError(ctypes.get_errno(), "mincore")
        del start
    return [bool(page & 1) for page in there]


def evict(path: Path) -> None:
    """Let the kernel forget the pages of a file, as far as its file system can."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def fill(path: Path, pages: range) -> None:
    """Read some pages, and none around them."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for page in pages:
            os.pread(file.fileno(), 1, page * mmap.PAGESIZE)


def files(path: Path) -> list[Path]:
    """All files below a folder."""
    return sorted(file for file in path.rglob("*") if file.is_file())
