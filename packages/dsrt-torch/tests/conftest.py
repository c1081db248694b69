from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from dsrt_format import Bytes, Dense, Ragged, Text
from dsrt_native import Cache, CacheWriter, Population

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32"),
    *("float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"),
]


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten samples with a field of every kind and metadata columns of most types."""
    path = tmp_path_factory.mktemp("caches") / "small"
    fields = {
        "x": Dense("float32", (2,)),
        "image": Dense("uint8", (2, 2, 3), codec="zstd", delta=3),
        "tokens": Ragged("uint16"),
        "boxes": Ragged("float32", ndim=2),
        "jpeg": Bytes(),
        "caption": Text(),
    }
    metadata = {
        "label": "int32",
        "name": "string",
        "good": "bool",
        "day": "date",
        "taken": "timestamp[ms, UTC]",
        "took": "duration[us]",
    }
    with CacheWriter(path, fields, metadata) as writer:
        for i in range(10):
            writer.append(
                {
                    "x": np.array([i, -i], np.float32),
                    "image": np.full((2, 2, 3), i, np.uint8),
                    "tokens": np.arange(i % 3, dtype=np.uint16) + 40000,
                    "boxes": np.full((i % 2, 4), i, np.float32),
                    "jpeg": bytes([i] * (i % 4)),
                    "caption": f"größe {i}",
                    "label": i % 3,
                    "name": None if i == 4 else f"n{i}",
                    "good": i % 2 == 0,
                    "day": date(1970, 1, 1 + i),
                    "taken": datetime(1970, 1, 1, 0, 0, i, tzinfo=UTC),
                    "took": timedelta(milliseconds=i),
                }
            )
    return path


@pytest.fixture(scope="session")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four samples with a dense and a ragged field of every dtype, named after it."""
    path = tmp_path_factory.mktemp("caches") / "numbers"
    fields = {f"d-{name}": Dense(name, (2,)) for name in DTYPES}
    fields |= {f"r-{name}": Ragged(name) for name in DTYPES}
    with CacheWriter(path, fields) as writer:
        for i in range(4):
            sample = {}
            for name in DTYPES:
                dtype = np.dtype(getattr(ml_dtypes, name, name))
                sample[f"d-{name}"] = np.array([i % 2, 1], dtype)
                sample[f"r-{name}"] = np.ones(i, dtype)
            writer.append(sample)
    return path


@pytest.fixture
def population(small: Path) -> Population:
    return Cache.open(small).population
