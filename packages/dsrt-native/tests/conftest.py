"""Caches written by the plain reference: one of every kind of field and column, one of numbers."""

import importlib
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from dsrt_format import Bytes, Dense, Ragged, Text, Zstd, reference
from dsrt_native import Cache, Population

# Whoever runs the tests in the background may have told them to ignore Ctrl-C, and the processes that are
# tested would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

FIELDS = {
    "image": Dense("uint8", (4, 5, 3), codec="zstd", delta=3),
    "vector": Dense("float32", (6,)),
    "label": Dense("int64"),
    "pair": Dense("complex128", (2,), codec="zstd"),
    "flags": Dense("bool", (3,)),
    "nothing": Dense("float64", (2, 0)),
    "tokens": Ragged("int32", codec=Zstd(3, dictionary=bytes(range(64)))),
    "boxes": Ragged("float64", 2),
    "jpeg": Bytes(),
    "caption": Text(codec="zstd"),
}

METADATA = {
    "split": "string",
    "hash": "binary",
    "score": "float32",
    "count": "int64",
    "whole": "uint64",
    "good": "bool",
    "day": "date",
    "taken": "timestamp[ns, UTC]",
    "seen": "timestamp[ms]",
    "length": "duration[us]",
}

COUNT = 23
PER_SHARD = 7


def sample(i: int) -> dict[str, Any]:
    """The sample of that number, null in every third text and every fifth bytes column."""
    random = np.random.default_rng(i)
    return {
        "image": random.integers(0, 256, (4, 5, 3), np.uint8),
        "vector": random.standard_normal(6, np.float32),
        "label": np.array(random.integers(-(2**63), 2**63 - 1)),
        "pair": random.standard_normal(2) + 1j * random.standard_normal(2),
        "flags": random.random(3) < 0.5,
        "nothing": np.empty((2, 0)),
        "tokens": random.integers(-9, 9, i % 5, np.int32),
        "boxes": random.standard_normal((i % 3, 1 + i % 4)),
        "jpeg": random.bytes(i % 4),
        "caption": "größe\0" * (i % 3),
        "split": None if i % 3 == 0 else f"part {i} of a string that is longer than a view holds",
        "hash": None if i % 5 == 0 else random.bytes(8),
        "score": float(np.float32(random.standard_normal())),
        "count": int(random.integers(-(2**62), 2**62)),
        "whole": 2**64 - 1 - i,
        "good": bool(i % 2),
        "day": np.datetime64("1969-12-25") + i,
        "taken": np.datetime64(1_600_000_000_123_456_789 + i, "ns"),
        "seen": np.datetime64(-i, "ms"),
        "length": np.timedelta64(i - 3, "us"),
    }


def write(path: Path, count: int = COUNT, **changed: Any) -> Path:
    arguments = {"fields": FIELDS, "samples": map(sample, range(count)), "metadata": METADATA}
    arguments |= {"samples_per_shard": PER_SHARD} | changed
    reference.write(path, **arguments)
    return path


@pytest.fixture(scope="session")
def samples() -> list[dict[str, Any]]:
    """What `path` holds."""
    return [sample(i) for i in range(COUNT)]


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that nobody may change."""
    return write(tmp_path_factory.mktemp("caches") / "whole")


@pytest.fixture
def write_cache(tmp_path: Path) -> Callable[..., Path]:
    """Writes a cache of one's own; arguments as for `dsrt_format.reference.write` instead of those above."""
    return lambda name="own", **changed: write(tmp_path / name, **changed)


@pytest.fixture(scope="session")
def same() -> Callable[[Any, Any], None]:
    """Asserts that two values have one type, shape and dtype, and the same bytes."""
    return _same


def _same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for name in expected:
            _same(found[name], expected[name])
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            _same(one, other)
    else:
        assert found == expected


@pytest.fixture(scope="session")
def numbers(tmp_path_factory):
    """A cache whose sample i holds x = i."""
    path = tmp_path_factory.mktemp("caches") / "numbers"
    fields = {"x": Dense("int64"), "wide": Dense("uint8", (100,), codec="zstd")}
    samples = ({"x": np.int64(i), "wide": np.full(100, i, np.uint8)} for i in range(23))
    reference.write(path, fields, samples, samples_per_shard=10)
    return path


@pytest.fixture
def population(numbers):
    return Population([Cache.open(numbers)])


NUMBERED = {"x": Dense("int64"), "y": Dense("int16", (2,), codec="zstd")}


def _numbered(first, count, **columns):
    return [
        {"x": np.int64(first + i), "y": np.array([i, -i], np.int16)}
        | {name: c[i] for name, c in columns.items()}
        for i in range(count)
    ]


@pytest.fixture
def caches(write_cache):
    """Samples x = 0..9 and 100..104, with a column each, and weights stored in the first one."""
    a = write_cache(
        "a",
        fields=NUMBERED,
        samples=_numbered(0, 10, weight=[0.5 * i for i in range(10)], s=[f"s{i}" for i in range(10)]),
        metadata={"weight": "float64", "s": "string"},
    )
    b = write_cache(
        "b", fields=NUMBERED, samples=_numbered(100, 5, s=["t", None, "u", "", "v"]), metadata={"s": "string"}
    )
    return [Cache.open(a), Cache.open(b)]


@pytest.fixture
def pool_tasks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the tasks, importable in workers as well."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("pool_tasks")


@pytest.fixture
def worker_sources(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Sources that worker processes can import."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("worker_sources")
