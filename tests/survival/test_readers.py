"""What readers find at a target that is being rebuilt."""

import threading
from pathlib import Path

import pytest

from dsrt_format import FormatError, Manifest, reference
from dsrt_native import Cache, build
from tests.survival.disk import TARGET, names
from tests.survival.expected import same
from tests.survival.job import Job
from tests.survival.recipes import Source


def version_at(path: Path) -> int | None:
    """Return which version a reader finds, whole; None if it was removed while it was being read."""
    with Cache.open(path) as cache:
        try:
            samples = list(cache)
        except (FormatError, OSError):
            return None
    (version,) = (version for version in (1, 2) if same(samples, "raw", version))
    return version


def test_readers_find_the_old_cache_or_the_new_one_while_it_is_rebuilt(nursery, expected, tmp_path):
    expected.copy(tmp_path, "raw", 2)
    seen = []
    for version in (1, 2):
        child = nursery.start(Job(str(tmp_path), "raw", version, rebuild=True))
        while child.read(0) and child.report("done") is None:
            seen.append(version_at(tmp_path / TARGET))
        assert child.end().status == 0, child
        seen.append(version_at(tmp_path / TARGET))
        assert seen[-1] == version
    assert names(tmp_path) == [TARGET]
    assert len([one for one in seen if one is None]) < len(seen) / 2


@pytest.mark.parametrize(
    "look",
    [lambda path: Cache.open(path).close(), Manifest.load, reference.read],
    ids=["Cache.open", "Manifest.load", "reference.read"],
)
def test_opening_never_fails_while_one_cache_replaces_the_other(tmp_path, look):
    build(Source("raw", 1), tmp_path)
    rebuilt = threading.Event()
    failed: list[Exception] = []

    def open_again_and_again():
        while not rebuilt.is_set():
            try:
                look(tmp_path / TARGET)
            except (FormatError, OSError) as error:
                failed.append(error)

    reader = threading.Thread(target=open_again_and_again)
    reader.start()
    try:
        for number in range(30):
            build(Source("raw", 2 - number % 2), tmp_path, on_stale="rebuild")
    finally:
        rebuilt.set()
        reader.join()
    assert failed == []
