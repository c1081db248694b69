"""kill -9 at random instants, and what the next run makes of it."""

import collections
import random
import shutil
import signal
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.survival.disk import TARGET, image, journalled, names
from tests.survival.expected import Expected
from tests.survival.job import Job
from tests.survival.nursery import Child, Nursery
from tests.survival.recipes import RECIPES, STYLES

WEIGHTS = {"raw": 6, "images": 6, "tokens": 6, "texts": 6, "large": 3, "trained": 1}


@dataclass
class KillCounts:
    """What happened, over all builds."""

    builds: int = 0
    rebuilds: int = 0
    with_workers: int = 0
    kills: int = 0
    between: int = 0
    identical: int = 0
    resumes: int = 0
    restarts: int = 0
    most_in_a_row: int = 0
    targets: collections.Counter[str] = field(default_factory=collections.Counter)
    shares: list[int] = field(default_factory=lambda: [0] * 10)
    none: int = 0
    sealed: int = 0
    published: int = 0

    def lines(self) -> list[str]:
        """Return a report, the histogram of durable shares included."""
        rows = [("nothing durable", self.none)]
        rows += [(f"{10 * i:2}% to {10 * (i + 1)}%", count) for i, count in enumerate(self.shares)]
        rows += [("all, unpublished", self.sealed), ("published", self.published)]
        most = max(count for _, count in rows)
        bars = [f"  {name:>16} {count:5} {'#' * round(50 * count / max(most, 1))}" for name, count in rows]
        targets = ", ".join(f"{name} {count}" for name, count in sorted(self.targets.items()))
        return [
            f"kill -9: {self.kills} kills in {self.builds} builds ({self.rebuilds} replaced another cache, "
            f"{self.with_workers} runs with two worker processes; up to {self.most_in_a_row} kills in a row)",
            f"  0 < durable < all at {self.between} of {self.kills} kills",
            f"  after a kill the target was: {targets}",
            f"  {self.resumes} runs went on from durable samples of a killed one",
            f"  {self.restarts} started over and said why: another version of the source, or no fingerprint",
            f"  {self.identical} of {self.builds} builds byte-identical in the end, nothing left beside them",
            "  durable share at the kill:",
            *bars,
        ]


class Killer:
    """Builds caches that are killed on the way, checks each state, and counts."""

    def __init__(self, nursery: Nursery, expected: Expected, place: Path, seed: int) -> None:
        self.counts = KillCounts()
        self._nursery, self._expected, self._place = nursery, expected, place
        self._random = random.Random(seed)

    def build(self, recipe: str | None = None, *, workers: bool | None = None) -> None:
        """Build one cache, with kills on the way, and check it."""
        choose = self._random
        recipe = recipe or choose.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        fingerprint = choose.random() < 0.93
        version = choose.randrange(1, 3)
        root = self._place / "killed"
        root.mkdir()
        old = None
        if choose.random() < 0.3:
            old = 3 - version
            self._expected.copy(root, recipe, old)
        in_a_row = 0
        while True:
            job = self._job(root, recipe, version, fingerprint, workers)
            state = self._state(root, job, old)
            if in_a_row and state != "new" and choose.random() < 0.06:
                # The preprocessing has changed meanwhile: what is durable is of no use any more.
                version = 3
                job = replace(job, version=version)
            held = journalled(root, f"{recipe} {version}") if fingerprint else 0
            # Without a fingerprint nobody can know that the cache that is there is the wanted one.
            job = replace(job, rebuild=old is not None or (state == "new" and not fingerprint))
            if state == "new" and fingerprint:
                # It was published in the last moment, which only build() looks for.
                job = replace(job, way="build")
            more = in_a_row == 0 or choose.random() < 0.45
            child = self._nursery.start(job)
            if more:
                self._aim(child, job, held)
                child.send(signal.SIGKILL)
            child.end()
            assert child.noise == [], child
            self._check_begin(child, job, held, state)
            if child.status == -signal.SIGKILL and child.report("done") is None:
                in_a_row += 1
                self._check_killed(child, job, old)
                continue
            self._check_end(child, job)
            break
        self.counts.builds += 1
        self.counts.rebuilds += old is not None
        self.counts.most_in_a_row = max(self.counts.most_in_a_row, in_a_row)
        shutil.rmtree(root)

    def _job(self, root: Path, recipe: str, version: int, fingerprint: bool, workers: bool | None) -> Job:
        choose = self._random
        if workers is None:
            workers = choose.random() < 0.08
        self.counts.with_workers += workers
        return Job(
            str(root),
            recipe,
            version,
            fingerprint,
            way="build" if workers else choose.choice(["build", "append", "batch"]),
            style="indices" if workers else choose.choice(list(STYLES)),
            workers=2 if workers else 0,
            threads=choose.choice([None, 1, 2, 3]),
        )

    def _aim(self, child: Child, job: Job, held: int) -> None:
        """Wait for the instant of the kill: by the clock, or by what the journal holds."""
        choose = self._random
        if choose.random() < 0.06:
            time.sleep(choose.uniform(0, 0.03))
            return
        child.wait_for("open")
        pace, samples = self._expected.pace(job.recipe, workers=job.workers > 0), RECIPES[job.recipe].samples
        rest = (pace.last - pace.first) * (1 - held / samples)
        which = choose.random()
        if which < 0.45:
            time.sleep(choose.uniform(0, pace.first + rest))
        elif which < 0.9:
            goal = choose.randrange(held, samples + 1)
            until = time.monotonic() + 3 * pace.end
            while journalled(Path(job.root)) <= goal and time.monotonic() < until:
                if not child.read(0.0005) or child.report("done") is not None:
                    return
            time.sleep(choose.uniform(0, 2 * rest / 15))
        else:
            time.sleep(choose.uniform(pace.first + rest, pace.end * 1.1 - pace.last + pace.first + rest))

    def _state(self, root: Path, job: Job, old: int | None) -> str:
        if not (root / TARGET).exists():
            return "absent"
        found = image(root / TARGET)
        if found == self._expected.image(job.recipe, job.version, fingerprint=job.fingerprint):
            return "new"
        assert old is not None, f"{root / TARGET} is neither absent nor whole"
        assert found == self._expected.image(job.recipe, old), f"{root / TARGET} is neither old nor new"
        return "old"

    def _check_killed(self, child: Child, job: Job, old: int | None) -> None:
        counts, root = self.counts, Path(job.root)
        state, durable = self._state(root, job, old), journalled(root)
        samples = RECIPES[job.recipe].samples
        counts.kills += 1
        counts.targets[state if old is None else f"{state} in a rebuild"] += 1
        if state == "new":
            counts.published += 1
            return
        assert durable >= child.durable, f"{child.durable} samples were said to be durable, {durable} are"
        counts.between += 0 < durable < samples
        if durable == 0:
            counts.none += 1
        elif durable == samples:
            counts.sealed += 1
        else:
            counts.shares[10 * durable // samples] += 1

    def _check_begin(self, child: Child, job: Job, held: int, state: str) -> None:
        """Check what a run says about the samples of the run before."""
        if (opened := child.report("open")) is None:
            return
        assert opened["resumed"] == (held if state != "new" else 0), f"{held} samples were durable: {child}"
        self.counts.resumes += opened["resumed"] > 0
        self.counts.restarts += any("are discarded" in text for text in child.warnings)

    def _check_end(self, child: Child, job: Job) -> None:
        root = Path(job.root)
        assert child.status in (0, -signal.SIGKILL), child
        assert (child.report("done") or {})["samples"] == RECIPES[job.recipe].samples, child
        wanted = self._expected.image(job.recipe, job.version, fingerprint=job.fingerprint)
        assert image(root / TARGET) == wanted, child
        assert names(root) == [TARGET], child
        self.counts.identical += 1
