"""What is called warm is in memory, and what is called cold is not."""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import page_cache
from benchmarks.page_cache import PAGE


def test_files_are_evicted_and_read_again_whole() -> None:
    # Not in a folder for temporary files, which may be memory.
    with TemporaryDirectory(dir=Path(__file__).parent) as name:
        folder = Path(name)
        (folder / "deep").mkdir()
        (folder / "empty").touch()
        file = folder / "deep" / "file"
        file.write_bytes(bytes(300 * PAGE + 1))
        page_cache.evict(folder)
        assert page_cache.resident(file) == 0
        for _ in range(2):
            page_cache.warm(folder)
            assert page_cache.resident(file) == 301
