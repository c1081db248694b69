"""What an uninterrupted build gives, and how long it takes: the measure of every other one."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dsrt_format import reference
from tests.survival.disk import TARGET, Image, image, journalled, names
from tests.survival.job import Job
from tests.survival.nursery import Nursery
from tests.survival.recipes import RECIPES, sample


@dataclass(frozen=True)
class Pace:
    """Seconds from the opening of the writer to the first durable sample, the last one, and the end."""

    first: float
    last: float
    end: float


class Expected:
    """Builds of recipes that nothing disturbed, each made once, below a directory of its own."""

    def __init__(self, nursery: Nursery, place: Path) -> None:
        self._nursery, self._place = nursery, place
        self._images: dict[tuple[str, int, bool], Image] = {}
        self._paces: dict[tuple[str, bool], Pace] = {}

    def path(self, recipe: str, version: int = 1, *, fingerprint: bool = True) -> Path:
        """Return the directory of such a cache."""
        root = self._place / f"{recipe}-{version}-{fingerprint}"
        if not (root / TARGET).exists():
            self._build(Job(str(root), recipe, version, fingerprint))
            assert same(list(reference.read(root / TARGET)), recipe, version)
        return root / TARGET

    def image(self, recipe: str, version: int = 1, *, fingerprint: bool = True) -> Image:
        """Return the image of its files."""
        key = (recipe, version, fingerprint)
        if key not in self._images:
            self._images[key] = image(self.path(recipe, version, fingerprint=fingerprint))
        return self._images[key]

    def copy(self, root: Path, recipe: str, version: int) -> None:
        """Put such a cache where a build will replace it."""
        shutil.copytree(self.path(recipe, version), root / TARGET, copy_function=shutil.copy2)

    def pace(self, recipe: str, *, workers: bool) -> Pace:
        """Return how a build of the recipe goes on this machine."""
        key = (recipe, workers)
        if key not in self._paces:
            root = self._place / f"pace-{recipe}-{workers}"
            self._paces[key] = self._build(Job(str(root), recipe, workers=2 if workers else 0))
            assert image(root / TARGET) == self.image(recipe)
        return self._paces[key]

    def _build(self, job: Job) -> Pace:
        root = Path(job.root)
        root.mkdir()
        child = self._nursery.start(job)
        opened = child.wait_for("open")
        assert opened is not None, child.end()
        last = first = None
        while child.read(0.001) and child.report("done") is None:
            durable = journalled(root)
            now = time.monotonic()
            first = now if first is None and durable > 0 else first
            last = now if last is None and durable == RECIPES[job.recipe].samples else last
        child.end()
        done = child.report("done")
        assert done is not None, child
        assert names(root) == [TARGET], child
        begin, end = opened["at"], done["at"]
        return Pace((first or end) - begin, (last or end) - begin, end - begin)


def same(samples: list[dict[str, Any]], recipe: str, version: int) -> bool:
    """Return whether samples that were read are those of the recipe, value for value."""
    if len(samples) != RECIPES[recipe].samples:
        return False
    return all(
        found.keys() == made.keys() and all(_equal(found[name], made[name]) for name in made)
        for found, made in ((samples[i], sample(recipe, version, i)) for i in range(len(samples)))
    )


def _equal(found: Any, made: Any) -> bool:
    return bool(np.array_equal(found, made)) if isinstance(made, np.ndarray) else bool(found == made)
