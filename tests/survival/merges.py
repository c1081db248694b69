"""Merges of parts that are killed at random instants."""

import collections
import random
import shutil
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.survival.disk import TARGET, Image, image, names
from tests.survival.expected import Expected
from tests.survival.job import Job
from tests.survival.nursery import Nursery


@dataclass
class MergeCounts:
    """What happened, over all merges."""

    merges: int = 0
    kills: int = 0
    targets: collections.Counter[str] = field(default_factory=collections.Counter)
    identical: int = 0

    def lines(self) -> list[str]:
        """Return a report."""
        targets = ", ".join(f"{name} {count}" for name, count in sorted(self.targets.items()))
        return [
            f"merge: {self.kills} kills in {self.merges} merges, by links and by copies",
            f"  after a kill the target was: {targets}",
            f"  {self.identical} of {self.merges} byte-identical in the end, nothing left beside them, "
            "parts untouched",
        ]


class Merger:
    """Merges parts, is killed, checks, and merges again."""

    def __init__(self, nursery: Nursery, expected: Expected, place: Path, seed: int) -> None:
        self.counts = MergeCounts()
        self._nursery, self._place = nursery, place
        self._random = random.Random(seed)
        self._parts = [expected.path("tokens", version) for version in range(1, 7)]
        self._before = [image(part) for part in self._parts]
        self._seconds: dict[bool, float] = {}
        self._wanted: Image = {}
        for link in (True, False):
            root = place / f"merged-{link}"
            root.mkdir()
            began = time.monotonic()
            child = nursery.run(self._job(root, link))
            self._seconds[link] = time.monotonic() - began
            assert (child.status, child.noise) == (0, []), child
            self._wanted = self._wanted or image(root / TARGET)
            assert image(root / TARGET) == self._wanted

    def _job(self, root: Path, link: bool) -> Job:
        parts = tuple(str(part) for part in self._parts)
        return Job(str(root), "tokens", way="merge", parts=parts, link=link)

    def merge(self) -> None:
        """Merge once, with a kill or several on the way."""
        root, choose, counts = self._place / "merged", self._random, self.counts
        root.mkdir()
        link = choose.random() < 0.7
        job = self._job(root, link)
        while True:
            child = self._nursery.start(job)
            if counts.kills <= counts.merges * 2:
                child.wait_for("open")
                time.sleep(choose.uniform(0, self._seconds[link] * 1.1))
                child.send(signal.SIGKILL)
            child.end()
            assert child.noise == [], child
            published = (root / TARGET).exists()
            if published:
                assert image(root / TARGET) == self._wanted, child
            if child.status != -signal.SIGKILL:
                break
            counts.kills += 1
            counts.targets["new" if published else "absent"] += 1
            if published:
                # It is there: another merge into it is refused, and the way to it was made free.
                child = self._nursery.run(job)
                assert (child.report("failed") or {}).get("kind") == "CacheExistsError", child
                break
        assert names(root) == [TARGET], child
        assert [image(part) for part in self._parts] == self._before
        counts.merges += 1
        counts.identical += 1
        shutil.rmtree(root)
