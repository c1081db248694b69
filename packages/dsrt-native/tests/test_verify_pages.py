"""Verification leaves the page cache as it found it."""

from pathlib import Path

import numpy as np
import pytest

from dsrt_format import Bytes, Dense, Zstd, reference
from dsrt_native import verify

from .pages import evict, files, fill, resident


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
