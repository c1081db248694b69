"""Several processes that write one cache at the same time."""

import collections
import random
import re
import shutil
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.survival.disk import TARGET, image, names
from tests.survival.expected import Expected
from tests.survival.job import Job
from tests.survival.nursery import Child, Nursery

HOLDER = re.compile(r"process (\d+) on \S+ .*since|process (\d+) on .*\(for \d+ s\)")


@dataclass
class RaceCounts:
    """What happened, over all rounds."""

    rounds: int = 0
    writers: int = 0
    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    takeovers: int = 0

    def lines(self) -> list[str]:
        """Return a report."""
        outcomes = ", ".join(f"{name} {count}" for name, count in self.outcomes.most_common())
        return [
            f"two writers and more at once: {self.writers} writers in {self.rounds} rounds",
            f"  outcomes: {outcomes}",
            f"  one winner and a whole cache in each; {self.takeovers} holders killed, "
            "each taken over by the next run",
        ]


class Races:
    """Rounds of writers that start together."""

    def __init__(self, nursery: Nursery, expected: Expected, place: Path, seed: int) -> None:
        self.counts = RaceCounts()
        self._nursery, self._expected, self._place = nursery, expected, place
        self._random = random.Random(seed)

    def round(self) -> None:
        """Let two to four writers loose on one target, of one version or of two."""
        choose, counts = self._random, self.counts
        root = self._place / "raced"
        root.mkdir()
        versions = choose.choice([(1,), (1, 2)])
        jobs = [
            Job(
                str(root),
                "raw",
                choose.choice(versions),
                way=choose.choice(["build", "append", "batch"]),
                gated=True,
            )
            for _ in range(choose.randrange(2, 5))
        ]
        children = [self._nursery.start(job) for job in jobs]
        time.sleep(0.02)
        for child in children:
            child.start()
            time.sleep(choose.choice([0, 0, 0.002, 0.05]))
        for child in children:
            child.end()
        outcomes = [self._outcome(child, children) for child in children]
        winners = [job for job, outcome in zip(jobs, outcomes, strict=True) if outcome == "built"]
        assert len(winners) == 1, children
        assert image(root / TARGET) == self._expected.image("raw", winners[0].version), children
        assert names(root) == [TARGET], children
        counts.rounds += 1
        counts.writers += len(children)
        counts.outcomes.update(outcomes)
        shutil.rmtree(root)

    def takeover(self) -> None:
        """Kill the holder of the lock in the middle; the next run has the lock and goes on."""
        root = self._place / "taken"
        root.mkdir()
        job = Job(str(root), "tokens")
        holder = self._nursery.start(job)
        holder.wait_for("open")
        time.sleep(self._random.uniform(0, self._expected.pace("tokens", workers=False).last / 2))
        second = self._nursery.run(job)
        assert self._outcome(second, [holder]) in ("locked", "reused"), second
        holder.send(signal.SIGKILL)
        holder.end()
        third = self._nursery.run(job)
        assert third.status == 0, third
        assert image(root / TARGET) == self._expected.image("tokens"), third
        assert names(root) == [TARGET], third
        self.counts.takeovers += 1
        shutil.rmtree(root)

    @staticmethod
    def _outcome(child: Child, children: list[Child]) -> str:
        assert child.noise == [], child
        if (done := child.report("done")) is not None:
            return str(done["status"])
        failed = child.report("failed")
        assert failed is not None, child
        if failed["kind"] == "CacheLockedError":
            holder = HOLDER.search(failed["message"])
            assert holder is not None, failed["message"]
            pid = int(holder[1] or holder[2])
            assert pid in {one.pid for one in children} - {child.pid}, failed["message"]
            return "locked"
        # Of another version, or it appeared between the look and the lock.
        assert failed["kind"] in ("CacheExistsError", "StaleCacheError"), child
        return "exists"
