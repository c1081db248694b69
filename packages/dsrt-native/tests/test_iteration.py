"""One sample after another is what an integer in brackets gives, however many are read at a time."""

from itertools import islice

import numpy as np
import pytest

from dsrt_format import Bytes, DataError, Dense, Ragged, Text, reference
from dsrt_native import Cache, Population
from dsrt_native.iteration import samples_of

COUNT = 1500


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A cache whose samples grow and shrink, and are small and large."""
    random = np.random.default_rng(1)
    large = random.integers(0, 256, 300_000, np.uint8)
    samples = [
        {
            "x": np.array(i, np.int64),
            "grid": random.integers(0, 9, (2, 3), np.int16),
            "values": large[: 300_000 if i in (7, 700, 1401) else int(random.integers(0, 2000))],
            "raw": random.bytes(i % 5),
            "text": "é" * (i % 3),
            "n": None if 900 <= i < 903 or i == 1400 else i,
            "s": None if i % 7 == 0 else str(i),
            "when": np.datetime64(i, "ns"),
            "day": np.datetime64(i, "D"),
        }
        for i in range(COUNT)
    ]
    fields = {
        "x": Dense("int64"),
        "grid": Dense("int16", (2, 3)),
        "values": Ragged("uint8"),
        "raw": Bytes(),
        "text": Text(),
    }
    metadata = {"n": "int32", "s": "string", "when": "timestamp[ns]", "day": "date"}
    path = tmp_path_factory.mktemp("long") / "x"
    reference.write(path, fields, samples, metadata, samples_per_shard=400)
    return path, samples


def test_all_samples_come_in_order_and_once(long, same):
    path, samples = long
    with Cache.open(path) as cache:
        same(list(cache), samples)
        rows = [5, 5, *range(1390, 1410), 0]
        same(list(Population([cache], rows=rows)), [samples[row] for row in rows])


def test_fields_are_those_that_the_cache_was_opened_with(long, same):
    path, samples = long
    with Cache.open(path, fields=["s", "x"]) as cache:
        same(list(cache), [{"s": sample["s"], "x": sample["x"]} for sample in samples])
    with Cache.open(path, fields=[]) as cache:
        assert list(cache) == [{}] * COUNT


def test_an_array_holds_on_to_no_neighbour_and_is_writable(long):
    path, _ = long
    with Cache.open(path, fields=["grid", "values"]) as cache:
        for sample in islice(cache, 1, 600):
            for name, array in sample.items():
                assert array.flags.writeable
                # Of its own, or the only one in the memory that it views.
                assert array.base is None or array.nbytes == 300_000, name


def test_samples_before_a_damaged_one_come_and_then_its_error(write_cache):
    samples = ({"x": np.array(i, np.int64)} for i in range(COUNT))
    path = write_cache(fields={"x": Dense("int64")}, metadata={}, samples=samples, samples_per_shard=COUNT)
    shard = path / "fields/x/00000.shard"
    changed = bytearray(shard.read_bytes())
    changed[64 + 8 * 1234] ^= 1
    shard.write_bytes(changed)
    with Cache.open(path) as cache:
        samples = iter(cache)
        assert [int(sample["x"]) for sample in islice(samples, 1234)] == list(range(1234))
        with pytest.raises(DataError) as caught:
            next(samples)
        assert caught.value.sample == 1234


def test_a_cache_that_is_closed_meanwhile_says_so(long):
    path, _ = long
    cache = Cache.open(path)
    samples = iter(cache)
    next(samples)
    cache.close()
    with pytest.raises(RuntimeError, match="closed"):
        for _ in samples:
            pass


def test_nothing_comes_of_a_cache_without_samples(write_cache):
    with Cache.open(write_cache(samples=[])) as cache:
        assert list(cache) == []


class Noting:
    """A population that notes how many samples were read together, and how many bytes they took."""

    def __init__(self, population):
        self.population = population
        self.asked = []

    def __len__(self):
        return len(self.population)

    def __getattr__(self, name):
        return getattr(self.population, name)

    def gather(self, *arguments):
        batch = self.population.gather(*arguments)
        self.asked.append((len(batch), memoryview(batch).nbytes))
        return batch


def test_large_samples_behind_small_ones_are_not_read_together(tmp_path, same):
    samples = [{"x": np.zeros(3 << 20 if i > 900 else i % 3, np.uint8)} for i in range(906)]
    reference.write(tmp_path / "x", {"x": Ragged("uint8", codec="zstd")}, samples)
    with Cache.open(tmp_path / "x") as cache:
        noting = Noting(cache._reader)
        same(list(samples_of(noting, None, "sample")), samples)
    assert max(count for count, _ in noting.asked) > 100
    assert max(size for count, size in noting.asked if count > 1) <= 4 << 20


def test_large_samples_are_read_one_by_one_and_not_copied(tmp_path, same):
    samples = [{"x": np.full(150_000, i, np.uint8), "text": str(i)} for i in range(20)]
    reference.write(tmp_path / "x", {"x": Dense("uint8", (150_000,)), "text": Text()}, samples)
    with Cache.open(tmp_path / "x") as cache:
        noting = Noting(cache._reader)
        same(list(samples_of(noting, None, "sample")), samples)
    assert noting.asked == []
