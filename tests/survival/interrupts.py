"""Ctrl-C at random instants of a build."""

import collections
import random
import shutil
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.survival.disk import TARGET, image, journalled, names
from tests.survival.expected import Expected, Pace
from tests.survival.job import Job
from tests.survival.nursery import Child, Nursery
from tests.survival.recipes import RECIPES

# What a source takes at least for its samples, so that a build is under way for some time on any machine.
SECONDS = 0.4


@dataclass
class InterruptCounts:
    """What happened, over all interrupts."""

    sent: int = 0
    with_workers: int = 0
    repeated: int = 0
    between: int = 0
    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    resumed: int = 0
    identical: int = 0

    def lines(self) -> list[str]:
        """Return a report."""
        outcomes = ", ".join(f"{name} {count}" for name, count in self.outcomes.most_common())
        return [
            f"Ctrl-C: {self.sent} builds interrupted, {self.repeated} of them again and again, "
            f"{self.with_workers} with two worker processes",
            f"  0 < durable < all when {self.between} of {self.sent} were sent",
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
        aim = "end" if at_the_end else choose.choices(["begin", "clock", "journal"], [7, 3, 90])[0]
        job = Job(
            str(root),
            recipe,
            fingerprint=choose.random() < 0.9,
            way=way,
            seconds=SECONDS if aim == "journal" else 0,
            workers=2 if workers else 0,
            gated=aim == "begin",
        )
        # Which takes a build, the first time.
        pace = self._expected.pace(recipe, workers=workers)
        child = self._nursery.start(job)
        self._aim(child, job, pace, aim)
        counts.between += 0 < journalled(root) < RECIPES[recipe].samples
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
            if published:
                outcome = "published"
            elif not job.fingerprint:
                outcome = "not kept without a fingerprint"
            else:
                share = "all" if durable == RECIPES[recipe].samples else "some" if durable else "none"
                outcome = f"kept {share}"
            counts.outcomes[outcome] += 1
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

    def _aim(self, child: Child, job: Job, pace: Pace, aim: str) -> None:
        """Wait for the instant of the interrupt."""
        choose, samples = self._random, RECIPES[job.recipe].samples
        if aim == "begin":
            # In the middle of locking, recovering and planning.
            time.sleep(0.05)
            child.start()
            time.sleep(choose.uniform(0, 0.02))
            return
        child.wait_for("open")
        if aim == "clock":
            time.sleep(choose.uniform(0, pace.end))
            return
        # A shard or two are left where the journal is to have some.
        goal = samples if aim == "end" else choose.randrange(1, samples * 9 // 10)
        while journalled(Path(job.root)) < goal:
            if not child.read(0.0005) or child.report("done") is not None:
                return
        time.sleep(choose.uniform(0, pace.end - pace.last if aim == "end" else SECONDS / 15))

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
