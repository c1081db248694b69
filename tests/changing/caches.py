"""A cache with every kind of file, in two versions of equal shapes, and what its readers are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dsrt_format import Bytes, Dense, Ragged, Text, Zstd
from dsrt_native import Cache

SAMPLES = 6
PER_SHARD = 3
PAGE = 4096
LONG = 800_000  # bytes: the metadata has several chunks of 4 MiB

FILES = {
    "fixed shard": "fields/raw/00001.shard",
    "indexed shard": "fields/boxes/00001.shard",
    "compressed shard": "fields/image/00001.shard",
    "dictionary": "fields/tokens/dictionary.bin",
    "metadata": "metadata.arrow",
}


class Source:
    """Values that follow from the version and the number; files are as long in each version."""

    name = "cache"
    samples_per_shard = PER_SHARD
    metadata: ClassVar = {"number": "int64", "word": "string", "long": "binary", "weight": "float64"}

    def __init__(self, version: int) -> None:
        self.version = version
        dictionary = f"a dictionary of version {version}, shared by the records".encode()
        self.fields = {
            "raw": Dense("int32", (2 * PAGE // 4,)),
            "image": Dense("uint8", (4, 5, 3), codec="zstd", delta=3),
            "boxes": Ragged("float64", 2),
            "tokens": Ragged("uint16", codec=Zstd(3, dictionary=dictionary)),
            "jpeg": Bytes(),
            "caption": Text(codec="zstd"),
        }

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, i: int) -> dict[str, Any]:
        random = np.random.default_rng((self.version, i))
        return {
            "raw": random.integers(0, 1 << 30, 2 * PAGE // 4, np.int32),
            "image": random.integers(0, 256, (4, 5, 3), np.uint8),
            "boxes": random.standard_normal((1 + i, 300)),
            "tokens": random.integers(0, 1 << 15, 10 + i, np.uint16),
            "jpeg": random.bytes(PAGE + i),
            "caption": f"sample {i} of version {self.version}",
            "number": 100 * self.version + i + 1,
            "word": f"a word of version {self.version} that is longer than a view, {i}",
            "long": bytes([self.version, i]) * (LONG // 2),
            "weight": 1.0 * self.version + i,
        }


def plain(value: Any) -> Any:
    """Something that compares bit for bit."""
    if isinstance(value, np.ndarray | np.generic):
        return (str(value.dtype), value.shape, value.tobytes())
    return value


Question = Callable[[Cache], Any]


def questions() -> dict[str, Question]:
    """Every way to a value, each answered alone: by name, from a cache to something that compares."""
    asked: dict[str, Question] = {}
    fields = list(Source(1).fields)
    for name in fields:
        for i in range(SAMPLES):
            asked[f"{name} {i}"] = lambda cache, name=name, i=i: plain(cache.fields[name][i])
        asked[f"{name} lengths"] = lambda cache, name=name: cache.fields[name].lengths().tolist()
        asked[f"{name} batch"] = lambda cache, name=name: gathered(cache, [5, 0, 1, 3], name)
    asked["raw slice"] = lambda cache: plain(np.array(cache.fields["raw"][3:6]))
    for name in Source.metadata:
        if name == "weight":
            asked["weights"] = lambda cache: plain(cache.population.weights)
        else:
            asked[f"{name} batch"] = lambda cache, name=name: gathered(cache, [5, 0, 1, 3], name)
            asked[f"{name} 5"] = lambda cache, name=name: gathered(cache, [5], name)
    asked["table"] = lambda cache: cache.metadata.to_pydict()
    return asked


def gathered(cache: Cache, rows: list[int], name: str) -> list[Any]:
    """The records of some samples, read as a batch."""
    column: Any = cache.population.gather(rows, [name])[name]
    return [plain(record) for record in (column.to_list() if hasattr(column, "to_list") else column)]


def answers(cache: Cache) -> dict[str, Any]:
    """What each question is answered, of a cache that nobody changed."""
    return {name: ask(cache) for name, ask in questions().items()}


def open_all(cache: Cache) -> None:
    """Reads something from every file, so that all are open or mapped."""
    for field in cache.fields.values():
        field[0], field[PER_SHARD]
    cache.population.gather([0], ["number"])
