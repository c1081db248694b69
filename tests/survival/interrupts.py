"""Ctrl-C at random instants of a build."""

import collections
import random
import shutil
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.survival.disk import TARGET, image, journalled, names
from tests.survival.expected import Expected
from tests.survival.job import Job
from tests.survival.nursery import Nursery
from tests.survival.recipes import RECIPES


@dataclass
class InterruptCounts:
    """What happened, over all interrupts."""

    sent: int = 0
    with_workers: int = 0
    repeated: int = 0
    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    resumed: int = 0
    identical: int = 0

    def lines(self) -> list[str]:
        """Return a report."""
        outcomes = ", ".join(f"{name} {count}" for name, count in self.outcomes.most_common())
        return [
            f"Ctrl-C: {self.sent} builds interrupted, {self.repeated} of them again and again, "
            f"{self.with_workers} with two worker processes",
            f"  outcomes: {outcomes}",
            f"  no process left in any; {self.resumed} next runs went on from durable samples; "
            f"{self.identical} ended byte-identical",
        ]


class Interrupter:
    """Builds caches, is interrupted, checks, and builds again."""

    def __init__(self, nursery: Nursery, expected: Expected, place: Path, seed: int) -> None:
        self.counts = InterruptCounts()
        self._nursery, self._expected, self._place = nursery, expected, place
        self._random = random.Random(seed)

    def build(self, *, workers: bool = False, at_the_end: bool = False) -> None:
        """Interrupt a build at an instant, during its publication if asked to, and run it again."""
        choose, counts = self._random, self.counts
        recipe = choose.choice(["raw", "images", "tokens", "texts", "large"])
        root = self._place / "interrupted"
        root.mkdir()
        way = "build" if workers else choose.choice(["build", "append", "batch"])
        early = not at_the_end and choose.random() < 0.1
        job = Job(
            str(root),
            recipe,
            fingerprint=choose.random() < 0.9,
            way=way,
            workers=2 if workers else 0,
            gated=early,
        )
        pace = self._expected.pace(recipe, workers=workers)
        child = self._nursery.start(job)
        if early:
            # In the middle of locking, recovering and planning.
            time.sleep(0.05)
            child.start()
            time.sleep(choose.uniform(0, 0.02))
        else:
            child.wait_for("open")
            time.sleep(choose.uniform(pace.last, pace.end) if at_the_end else choose.uniform(0, pace.end))
        # A terminal sends it to every process of the group, kill to one.
        group = choose.random() < 0.5
        for again in range(choose.choice([1, 1, 1, 2, 4])):
            # People are impatient.
            time.sleep(choose.uniform(0, 0.01) if again else 0)
            child.send(signal.SIGINT, group=group)
            counts.repeated += again == 1
        child.end()
        counts.sent += 1
        counts.with_workers += workers
        wanted = self._expected.image(recipe, fingerprint=job.fingerprint)
        durable = journalled(root)
        published = (root / TARGET).exists()
        assert not published or image(root / TARGET) == wanted, child
        failed = child.report("failed")
        if failed is not None:
            assert failed["kind"] == "KeyboardInterrupt", child
            assert published or durable >= (child.durable if job.fingerprint else 0), child
            assert job.fingerprint or not root.exists() or names(root) in ([], [TARGET]), child
            share = "all" if durable == RECIPES[recipe].samples else "some" if durable else "none"
            counts.outcomes["published" if published else f"kept {share}"] += 1
        elif "KeyboardInterrupt" in child.noise:
            # Another one came where the first was being reported.
            counts.outcomes["reported by Python"] += 1
        else:
            # It came after the build, where there is nothing to interrupt but the end of the process.
            assert published, child
            assert child.report("done") is not None, child
            counts.outcomes["too late"] += 1
        self._again(job, durable if job.fingerprint and not published else 0, published)
        shutil.rmtree(root)

    def _again(self, job: Job, kept: int, published: bool) -> None:
        root = Path(job.root)
        again = Job(
            job.root, job.recipe, fingerprint=job.fingerprint, rebuild=published and not job.fingerprint
        )
        child = self._nursery.run(again)
        assert (child.status, child.noise) == (0, []), child
        assert (child.report("done") or {})["resumed"] == kept, child
        assert image(root / TARGET) == self._expected.image(job.recipe, fingerprint=job.fingerprint), child
        assert names(root) == [TARGET], child
        self.counts.resumed += kept > 0
        self.counts.identical += 1
