"""What is built: sources whose every sample follows from its number, so that any process makes the same."""

import datetime
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from dsrt_format import Bytes, Dense, Ragged, Text, Zstd

WORDS = ("a", "cache", "is", "one", "directory", "that", "never", "changes", "after", "its", "publication")
EPOCH = datetime.datetime(2024, 1, 1)


@dataclass(frozen=True)
class Recipe:
    """Fields, columns and sizes of a source. The numbers give a build of some tens of fsyncs."""

    fields: Mapping[str, Any]
    metadata: Mapping[str, str] = field(default_factory=dict)
    samples: int = 240
    samples_per_shard: int | None = 16
    shard_bytes: int | None = None


def _text(rng: np.random.Generator, words: int) -> str:
    return " ".join(WORDS[i] for i in rng.integers(len(WORDS), size=words))


@cache
def _dictionary() -> bytes:
    return _text(np.random.default_rng(7), 400).encode()


RECIPES: dict[str, Recipe] = {
    "raw": Recipe({"x": Dense("float32", (40,)), "y": Dense("int64")}),
    "images": Recipe(
        {"image": Dense("uint8", (12, 12, 3), codec="zstd", delta=3), "label": Dense("int32")},
        {"width": "int32", "species": "string"},
        samples=300,
        samples_per_shard=25,
    ),
    "tokens": Recipe(
        {"tokens": Ragged("uint16", codec="zstd"), "boxes": Ragged("float32", ndim=2)},
        {"when": "timestamp[us]", "ok": "bool", "note": "string", "weight": "float64"},
    ),
    "texts": Recipe(
        {"text": Text(codec=Zstd(5, dictionary=_dictionary())), "blob": Bytes()},
        {"name": "string", "digest": "binary"},
        samples=400,
        samples_per_shard=None,
        shard_bytes=6000,
    ),
    "large": Recipe(
        {"blob": Bytes(codec="zstd"), "mask": Dense("bool", (1000,))},
        {"i": "int64"},
        samples=60,
        samples_per_shard=None,
        shard_bytes=300_000,
    ),
    "trained": Recipe(
        {"text": Text(codec=Zstd(dictionary="train"))},
        {"i": "int32"},
        samples=9000,
        samples_per_shard=300,
    ),
}


def sample(recipe: str, version: int, i: int) -> dict[str, Any]:
    """Return sample `i` of a recipe; another version is another preprocessing, with other values."""
    rng = np.random.default_rng([zlib.crc32(recipe.encode()), version, i])
    if recipe == "raw":
        return {"x": rng.random(40, np.float32), "y": i * version}
    if recipe == "images":
        image = rng.integers(0, 4, (12, 12, 3), np.uint8).cumsum(axis=0, dtype=np.uint8)
        species = None if i % 7 == 3 else _text(rng, 2)
        return {"image": image, "label": i % 5, "width": int(rng.integers(500)), "species": species}
    if recipe == "tokens":
        tokens = rng.integers(0, 3000, int(rng.integers(0, 60)), np.uint16)
        boxes = rng.random((i % 4, 4), np.float32)
        row = {"when": EPOCH + datetime.timedelta(seconds=i), "ok": None if i % 11 == 0 else i % 2 == 0}
        return {"tokens": tokens, "boxes": boxes, **row, "note": _text(rng, i % 9), "weight": float(i % 3)}
    if recipe == "texts":
        text = _text(rng, int(rng.integers(0, 40)))
        return {"text": text, "blob": rng.bytes(200), "name": f"größe {i}", "digest": rng.bytes(8)}
    if recipe == "large":
        blob = rng.bytes(20_000 + i * 100)
        return {"blob": blob, "mask": rng.random(1000) < 0.5, "i": i}
    return {"text": _text(rng, 160), "i": i}


class Source:
    """A recipe with random access, which takes so many seconds for all of its samples."""

    name = "target"

    def __init__(self, recipe: str, version: int, *, fingerprint: bool = True, seconds: float = 0) -> None:
        self.recipe, self.version, self.seconds = recipe, version, seconds
        plan = RECIPES[recipe]
        self.fields, self.metadata, self._samples = plan.fields, plan.metadata, plan.samples
        self.samples_per_shard, self.shard_bytes = plan.samples_per_shard, plan.shard_bytes
        self.fingerprint = f"{recipe} {version}" if fingerprint else None
        self.attributes = {"recipe": recipe, "version": version}

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, i: int) -> dict[str, Any]:
        if self.seconds:
            time.sleep(self.seconds / self._samples)
        return sample(self.recipe, self.version, i)


class Stream:
    """The same samples, in their order only: a second run has to draw again what is there already."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name = source.name
        self.fields, self.metadata = source.fields, source.metadata
        self.samples_per_shard, self.shard_bytes = source.samples_per_shard, source.shard_bytes
        self.fingerprint, self.attributes = source.fingerprint, source.attributes

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._source.__getitem__, range(len(self._source)))


class Seekable(Stream):
    """A stream that can begin anywhere."""

    def iter_from(self, first: int) -> Iterator[dict[str, Any]]:
        return map(self._source.__getitem__, range(first, len(self._source)))


STYLES = {"indices": lambda source: source, "stream": Stream, "seekable": Seekable}
