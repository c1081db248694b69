"""The caches under test: built by both writers, pristine, with an older build and a sibling beside each."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from dsrt_format import reference
from dsrt_native import CacheWriter
from tests.faults.layout import Layout
from tests.faults.sources import PER_SHARD, RECIPES, Source, source
from tests.faults.truth import Truth

BUILDS = ("new", "old", "sibling")


@dataclass(frozen=True)
class Specimen:
    """A cache with its truth, which comes from the source and never from the cache.

    Attributes:
        name: Recipe and writer.
        path: The directory of the new build.
        files: By build, the content of each file by its path inside the cache.
        layout: Which bytes of the new build are what.
        truths: By build, the values.
    """

    name: str
    path: Path
    files: dict[str, dict[str, bytes]]
    layout: Layout
    truths: dict[str, Truth]

    @property
    def new(self) -> dict[str, bytes]:
        """The files that faults are made in."""
        return self.files["new"]


def names() -> list[str]:
    """Return the names of all specimens."""
    return [f"{recipe}-{writer}" for recipe in RECIPES for writer in ("native", "reference")]


def build_all(root: Path) -> None:
    """Write every specimen below a directory; about a second."""
    for name in names():
        recipe, writer = name.split("-")
        for build in BUILDS:
            title = f"{recipe}_sibling" if build == "sibling" else recipe
            path = root / name / build / title
            path.parent.mkdir(parents=True)
            _write(path, source(recipe, build), writer)


def _write(path: Path, of: Source, writer: str) -> None:
    if writer == "reference":
        reference.write(path, of.fields, of.samples, of.columns, samples_per_shard=PER_SHARD)
        return
    with CacheWriter(path, of.fields, of.columns, threads=1, samples_per_shard=PER_SHARD) as into:
        for sample in of.samples:
            into.append(sample)


@functools.cache
def specimen(root: Path, name: str) -> Specimen:
    """Return a specimen that `build_all` has written."""
    recipe = name.split("-")[0]
    paths = [next((root / name / build).iterdir()) for build in BUILDS]
    files = {build: _files(path) for build, path in zip(BUILDS, paths, strict=True)}
    truths = {build: Truth.of(source(recipe, build)) for build in BUILDS}
    return Specimen(name, paths[0], files, Layout.of(files["new"]), truths)


def _files(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()
    }
