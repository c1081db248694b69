"""What readers find at a target that is being rebuilt."""

from pathlib import Path

from dsrt_format import FormatError
from dsrt_native import Cache
from tests.survival.disk import TARGET, names
from tests.survival.expected import same
from tests.survival.job import Job


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
