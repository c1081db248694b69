"""Verification leaves the page cache as it found it."""

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np
import pytest

from dsrt_format import Bytes, Dense, Zstd, reference
from dsrt_native import verify

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


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of a few MiB, of which a page is a small part, and some of less than a page."""
    random = np.random.default_rng(0)
    fields = {
        "image": Dense("uint8", (300_000,)),
        "jpeg": Bytes(),
        "small": Dense("int16", codec=Zstd(dictionary=bytes(range(99)))),
    }
    samples = (
        {
            "image": random.integers(0, 256, 300_000, np.uint8),
            "jpeg": random.bytes(250_000),
            "small": np.int16(i),
            "text": f"{i}" * 5000,
        }
        for i in range(30)
    )
    path = tmp_path_factory.mktemp("pages") / "cache"
    reference.write(path, fields, samples, metadata={"text": "string"}, samples_per_shard=17)
    return path


def files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())


@pytest.mark.parametrize("level", ["structure", "records", "digests"])
@pytest.mark.parametrize("warm", ["nothing", "some pages", "everything"])
def test_the_page_cache_is_as_before(cache: Path, level: str, warm: str) -> None:
    # Giving pages back is advice: now and then the kernel has one in its hands, to move it, and keeps it.
    changes = [changed(cache, level, warm) for _ in range(3)]
    assert {} in changes, changes


def changed(cache: Path, level: str, warm: str) -> dict[str, list[tuple[int, bool]]]:
    """By file, the pages that a verification brought there or took away."""
    for number, file in enumerate(files(cache)):
        evict(file)
        count = len(resident(file))
        if warm == "everything":
            fill(file, range(count))
        elif warm == "some pages":
            fill(file, range(number % 3, count, 7))
    # On a file system in memory everything is there, and stays.
    before = {file: resident(file) for file in files(cache)}
    assert verify(cache, level=level, threads=2) == []
    found = {}
    for file, then in before.items():
        pages = enumerate(zip(resident(file), then, strict=True))
        if differing := [(page, now) for page, (now, was) in pages if now != was]:
            found[file.name] = differing
    return found
