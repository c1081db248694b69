"""What a process and all that it started hold in memory, and have read from the disk."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

_INTERVAL = 0.02
_MEMORY = ("Pss_Anon:", "Pss_Shmem:")


def tree(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in children:
            yield from tree(int(child))


def private() -> float:
    """MiB of pages that are the tree's own: private ones and shared memory, but no mapped files.

    Of pages that several processes share each counts its part (Pss), so that the sum counts them once.
    """
    return sum(map(_private, tree(os.getpid()))) / 2**10


def _private(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # the process has ended
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(_MEMORY))


def disk_bytes() -> int:
    """Bytes that the tree has caused to be read from the disk, read-ahead included."""
    total = 0
    for each in tree(os.getpid()):
        try:
            lines = Path(f"/proc/{each}/io").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))
    return total


class Watch:
    """Samples of `private`, taken by a thread while this is entered: not to be used in what is timed."""

    def __init__(self) -> None:
        self.samples: list[float] = []

    def __enter__(self) -> Self:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self.samples.append(private())
            if self._over.wait(_INTERVAL):
                return
