"""Disks of any size: a tmpfs, where this process may mount one."""

import contextlib
import functools
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def _mount(*arguments: str) -> str | None:
    """Run mount; return what it says if it fails."""
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return done.stderr.strip() or "mount fails" if done.returncode else None


class SmallDisk:
    """A mounted tmpfs that can be made larger."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def resize(self, options: str) -> None:
        """Give it another size or number of files, such as ``size=64k`` or ``nr_inodes=40``."""
        assert (problem := _mount("-o", f"remount,{options}", str(self.path))) is None, problem


@contextlib.contextmanager
def small_disk(path: Path, options: str) -> Iterator[SmallDisk]:
    """Mount a tmpfs at a directory, made if it is missing, and take it away in the end."""
    path.mkdir(exist_ok=True)
    assert (problem := _mount("-t", "tmpfs", "-o", f"mode=0777,{options}", "tmpfs", str(path))) is None, (
        problem
    )
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@functools.cache
def why_not() -> str | None:
    """Return why no tmpfs can be mounted here, or None if one can."""
    with tempfile.TemporaryDirectory() as place:
        problem = _mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", place)
        if problem is None:
            subprocess.run(["umount", place], check=True)
    return problem
