from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from dsrt_format import Dense, Ragged, Text
from dsrt_native import CacheWriter

LABELS = [2, 0, 1, 1, 0, 2, 0, 0, 1, 2, 0, 0]
SPECIES = [
    "cat",
    "dog",
    None,
    "cat",
    "a species with a long name",
    "dog",
    "cat",
    "",
    "größe",
    "dog",
    "cat",
    None,
]


def sample(i: int) -> dict[str, object]:
    return {
        "image": np.full((2, 3), i, np.uint8),
        "tokens": np.arange(i % 4, dtype=np.uint16) + i,
        "caption": f"number {i}",
        "label": LABELS[i],
        "species": SPECIES[i],
        "width": None if i == 5 else i * 10,
        "taken": datetime(2020, 1, 1 + i),
    }


@pytest.fixture(scope="session")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve samples with three fields and four metadata columns; species and width hold nulls."""
    path = tmp_path_factory.mktemp("caches") / "pets"
    fields = {"image": Dense("uint8", (2, 3)), "tokens": Ragged("uint16", codec="zstd"), "caption": Text()}
    metadata = {"label": "int32", "species": "string", "width": "int64", "taken": "timestamp[us]"}
    with CacheWriter(path, fields, metadata, samples_per_shard=5) as writer:
        for i in range(len(LABELS)):
            writer.append(sample(i))
    return path


@pytest.fixture(scope="session")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four samples with a stored weight and no other column."""
    path = tmp_path_factory.mktemp("caches") / "weighted"
    with CacheWriter(path, {"x": Dense("float32")}, {"weight": "float64"}) as writer:
        for i in range(4):
            writer.append({"x": np.float32(i), "weight": i / 2})
    return path


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three samples without metadata."""
    path = tmp_path_factory.mktemp("caches") / "bare"
    with CacheWriter(path, {"x": Dense("float32")}) as writer:
        for i in range(3):
            writer.append({"x": np.float32(i)})
    return path
