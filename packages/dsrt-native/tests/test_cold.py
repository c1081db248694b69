"""What the page cache does not have is asked for ahead: no more of it than is read, and not page by page."""

import itertools
import json
import mmap
import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dsrt_format import Bytes, Dense, Ragged, reference
from dsrt_native import Cache
from dsrt_native.cache import Io

from .pages import evict, files, resident

FIELDS: dict[str, Dense | Ragged | Bytes] = {
    "record": Dense("float32", (500,)),
    "image": Dense("uint8", (200, 300)),
    "tokens": Ragged("uint16"),
    "jpeg": Bytes(codec="zstd"),
}
SAMPLES, PER_SHARD = 600, 400
HEADER = 64
BOTH = pytest.mark.parametrize("io", ["mmap", "pread"])


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of which a batch is a small part."""
    random = np.random.default_rng(0)
    samples = (
        {
            "record": random.random(500, np.float32),
            "image": random.integers(0, 256, (200, 300), np.uint8),
            "tokens": random.integers(0, 50_000, random.integers(0, 9000), np.uint16),
            "jpeg": random.bytes(int(random.integers(0, 20_000))),
        }
        for _ in range(SAMPLES)
    )
    path = tmp_path_factory.mktemp("cold") / "cache"
    reference.write(path, FIELDS, samples, samples_per_shard=PER_SHARD)
    return path


def shards(path: Path, name: str) -> list[Path]:
    return sorted((path / "fields" / name).glob("*.shard"))


def held(path: Path, name: str, sample: int) -> set[tuple[str, int]]:
    """File and number of each page that holds the record of a sample, or what the index tells of it."""
    manifest = json.loads((path / "manifest.json").read_text())
    shard, place = divmod(sample, PER_SHARD)
    file, count = shards(path, name)[shard], manifest["shards"][shard]
    field, size = FIELDS[name], file.stat().st_size
    if isinstance(field, Dense):
        stride = int(np.prod(field.shape)) * np.dtype(field.dtype).itemsize
        start, end = HEADER + place * stride, HEADER + (place + 1) * stride
        entries = range(size - 4 * (count - place), size - 4 * (count - place - 1))
    else:
        entry = 20
        at = size - entry * (count - place)
        entries = range(at - (entry if place else 0), at + entry)
        with file.open("rb") as opened:
            ends = [HEADER, *np.frombuffer(opened.read()[size - entry * count :], f"<u8,V{entry - 8}")["f0"]]
        start, end = int(ends[place]), int(ends[place + 1])
    ranges = [range(start, end), entries]
    return {
        (file.name, at // mmap.PAGESIZE) for each in ranges for at in (*each[:: mmap.PAGESIZE], *each[-1:])
    }


def forget(path: Path) -> None:
    for file in files(path):
        evict(file)


def three_tries(attempt: Callable[[], object]) -> None:
    """Asking and forgetting are advice, which a busy kernel does not always take."""
    found = [attempt() for _ in range(3)]
    assert not all(found), found


@BOTH
@pytest.mark.parametrize("name", FIELDS)
def test_a_random_batch_brings_its_own_pages_and_no_others(cold: Path, io: Io, name: str) -> None:
    random = np.random.default_rng(1)

    def attempt() -> object:
        numbers = random.permutation(SAMPLES)[:20]
        expected = {(file.name, 0) for file in shards(cold, name)}
        expected |= {page for number in numbers for page in held(cold, name, int(number))}
        forget(cold)
        before = pages_of(cold, name)
        with Cache.open(cold, io=io) as cache:
            for part in np.split(numbers, 4):
                cache.population.gather(part, [name])
        # On a file system in memory all were there.
        return (pages_of(cold, name) - before) ^ (expected - before)

    three_tries(attempt)


def pages_of(path: Path, name: str) -> set[tuple[str, int]]:
    return {
        (file.name, page) for file in shards(path, name) for page, there in enumerate(resident(file)) if there
    }


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("way", ["batches at random", "batches in order", "one by one", "a view"])
def test_mapped_pages_are_not_waited_for_one_by_one(cold: Path, name: str, way: str) -> None:
    # What is fetched only when it is touched counts as a major fault.
    total = sum(file.stat().st_size for file in shards(cold, name)) // mmap.PAGESIZE

    def attempt() -> object:
        forget(cold)
        with Cache.open(cold, fields=[name], io="mmap") as cache:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
            order = np.arange(SAMPLES)
            if way == "batches at random":
                order = np.random.default_rng(2).permutation(SAMPLES)
            if way == "one by one":
                list(cache)
            elif way == "a view":
                for first in range(0, SAMPLES, PER_SHARD):
                    cache.fields[name][first : min(first + PER_SHARD, SAMPLES)]
            else:
                for part in np.split(order, 20):
                    cache.population.gather(part, [name])
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before
        return f"{faults} of {total}" if faults > total / 50 + 5 else None

    three_tries(attempt)


@BOTH
def test_what_was_evicted_between_batches_comes_again(cold: Path, io: Io) -> None:
    with Cache.open(cold, io=io) as cache:
        first = cache.population.gather(range(40), list(FIELDS))
        for _ in range(200):
            cache.population.gather([5], ["record"])
        forget(cold)
        again = cache.population.gather(range(40), list(FIELDS))
        for name in FIELDS:
            for one, two in itertools.zip_longest(first[name], again[name]):
                np.testing.assert_array_equal(one, two)
