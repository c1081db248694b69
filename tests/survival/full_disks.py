"""A full disk at every write: what is kept, what the error says, and what the next run makes of it."""

import collections
import errno
import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.survival.disk import TARGET, WORK, image, journalled, names
from tests.survival.expected import Expected
from tests.survival.job import Job
from tests.survival.nursery import Child, Nursery
from tests.survival.recipes import RECIPES
from tests.survival.small_disk import SmallDisk, small_disk

ROOMY = "size=64m,nr_inodes=50000"


@dataclass
class FullDiskCounts:
    """What happened, over all limits."""

    runs: int = 0
    failed: int = 0
    resumed: int = 0
    identical: int = 0
    chains: int = 0
    in_chains: int = 0
    files: collections.Counter[str] = field(default_factory=collections.Counter)

    def lines(self, kind: str) -> list[str]:
        """Return a report."""
        files = ", ".join(f"{name} {count}" for name, count in self.files.most_common())
        chains = (
            f", and so did {self.chains} chains of runs ({self.in_chains} failed) with more room each time"
        )
        return [
            f"full disk ({kind}): {self.runs} builds; {self.failed} failed, "
            "with an OSError that names the file and what is durable",
            f"  named: {files}",
            f"  {self.resumed} next runs went on from durable samples; {self.identical} of "
            f"{self.failed - self.in_chains} ended byte-identical{chains if self.chains else ''}",
        ]


class FullDisks:
    """Builds on disks that are too small, and then on the same disk with room."""

    def __init__(self, nursery: Nursery, expected: Expected, place: Path) -> None:
        self.counts = FullDiskCounts()
        self._nursery, self._expected, self._place = nursery, expected, place

    def limits(self, recipe: str) -> list[int]:
        """Return limits that make writes of a build fail: the size of each file less one, and more."""
        sizes = {one.stat().st_size for one in self._expected.path(recipe).rglob("*") if one.is_file()}
        return sorted({0, 1, 64, *range(100, 8000, 700), *(size - 1 for size in sizes)})

    def limited(self, recipe: str, limit: int, *, old: bool = False) -> None:
        """Build where no file may be longer than a limit; then without the limit."""
        root = self._place / "limited"
        root.mkdir()
        if old:
            self._expected.copy(root, recipe, 2)
        job = Job(str(root), recipe, file_bytes=limit, rebuild=old)
        self._check(self._nursery.run(job), job, old, errno.EFBIG)
        shutil.rmtree(root)

    def rising(self, recipe: str, step: int = 1) -> None:
        """Build again and again where files may be a little longer each time, until it is enough."""
        root = self._place / "rising"
        root.mkdir()
        for limit in self.limits(recipe)[::step]:
            job = Job(str(root), recipe, file_bytes=limit, way=("build", "append", "batch")[limit % 3])
            if self._failed(self._nursery.run(job), job, False, errno.EFBIG) is None:
                break
            self.counts.in_chains += 1
        self._complete(job, None)
        self.counts.chains += 1
        shutil.rmtree(root)

    def small(self, recipe: str, options: str, *, old: bool = False) -> None:
        """Build on a small tmpfs; then on the same with room."""
        with small_disk(self._place / "small", ROOMY) as disk:
            if old:
                self._expected.copy(disk.path, recipe, 2)
            disk.resize(self._beside(disk, options))
            job = Job(str(disk.path), recipe, rebuild=old)
            child = self._nursery.run(job)
            disk.resize(ROOMY)
            self._check(child, job, old, errno.ENOSPC)

    @staticmethod
    def _beside(disk: SmallDisk, options: str) -> str:
        """Add what lies there already to a size in pages or a number of files."""
        kind, number = options.split("=")
        everything = [disk.path, *disk.path.rglob("*")]
        if kind == "nr_inodes":
            return f"nr_inodes={int(number) + len(everything)}"
        pages = sum(-(-one.stat().st_size // 4096) for one in everything if one.is_file())
        return f"size={4 * (int(number) + pages)}k"

    def _check(self, child: Child, job: Job, old: bool, number: int) -> None:
        self._complete(job, self._failed(child, job, old, number))

    def _failed(self, child: Child, job: Job, old: bool, number: int) -> int | None:
        """Check a run that may have failed; return what it kept, None if it did not fail."""
        root, counts = Path(job.root), self.counts
        counts.runs += 1
        assert child.noise == [], child
        if child.status == 0:
            assert image(root / TARGET) == self._expected.image(job.recipe), child
            return None
        counts.failed += 1
        failed = child.report("failed")
        assert failed is not None, child
        assert (failed["kind"], failed["errno"]) == ("OSError", number), child
        named = re.search(rf"{re.escape(str(root))}/([^:;]*)", failed["message"])
        assert named is not None, child
        counts.files[_kind(named[1])] += 1
        durable = journalled(root)
        said = re.search(r"(\d+) samples are durable", failed["message"])
        assert (int(said[1]) if said else 0) == durable, child
        if old:
            assert image(root / TARGET) == self._expected.image(job.recipe, 2), child
        else:
            assert not (root / TARGET).exists(), child
        return durable

    def _complete(self, job: Job, kept: int | None) -> None:
        root = Path(job.root)
        child = self._nursery.run(replace(job.unlimited(), way="build"))
        assert (child.status, child.noise) == (0, []), child
        done = child.report("done")
        assert done is not None, child
        assert done["samples"] == RECIPES[job.recipe].samples
        assert image(root / TARGET) == self._expected.image(job.recipe), child
        assert names(root) == [TARGET], child
        if kept is not None:
            assert done["resumed"] == kept, child
            self.counts.resumed += kept > 0
            self.counts.identical += 1


def _kind(path: str) -> str:
    """Return what a file below the root is, without its numbers."""
    inside = path.removeprefix(WORK).strip("/").rstrip(" ,")
    return re.sub(r"\d{5,}", "N", re.sub(r"fields/\w+", "fields/*", inside)) or "the work directory"
