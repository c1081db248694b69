"""Cache: samples by number, batches, metadata."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dsrt_format import (
    Dense,
    Manifest,
    SchemaError,
    Text,
)
from dsrt_native import Cache, RaggedArray


@pytest.fixture
def cache(path):
    with Cache.open(path) as cache:
        yield cache


def column(samples, name, rows):
    return [samples[row][name] for row in rows]


def test_a_sample_is_what_was_written(cache, samples, same):
    assert len(cache) == len(samples)
    for i, expected in enumerate(samples):
        same(cache[i], expected)
        same(cache[i - len(samples)], expected)
        same(cache[np.int16(i)], expected)
        same(cache[np.array(i)], expected)


def test_iteration_yields_the_samples_in_order(cache, samples, same):
    same(list(cache), samples)


def test_a_sample_belongs_to_the_caller_and_is_writable(cache, samples, same):
    first = cache[4]
    for value in first.values():
        if isinstance(value, np.ndarray):
            value[...] = 0
    same(cache[4], samples[4])


@pytest.mark.parametrize(
    ("index", "rows"),
    [
        (slice(None), range(23)),
        (slice(5, 9), range(5, 9)),
        (slice(-3, None), range(20, 23)),
        (slice(20, 2, -5), [20, 15, 10, 5]),
        (slice(9, 5), []),
        (slice(20, 99), range(20, 23)),
        ([3, 3, -1, 0], [3, 3, 22, 0]),
        ([], []),
        (range(2, 20, 6), [2, 8, 14]),
        (np.array([22, 0], np.uint8), [22, 0]),
        (np.array([-23, 7], np.int32), [0, 7]),
        (np.array([], np.int64), []),
        (np.arange(22)[::-4], [21, 17, 13, 9, 5, 1]),
        (np.array([0, -1, 22, -23]), [0, 22, 22, 0]),
        (np.array([0, 5, 22], ">i8"), [0, 5, 22]),
        (np.array([0, 5, 22], np.uint64), [0, 5, 22]),
        (np.frombuffer(np.array([4, 0]).tobytes(), np.int64), [4, 0]),
    ],
)
def test_a_batch_holds_the_samples_in_the_order_asked_for(cache, samples, same, index, rows):
    fields = [name for name in samples[0] if name not in ("split", "hash")]
    with Cache.open(cache.path, fields=fields) as cache:
        batch = cache[index]
    assert list(batch) == fields
    for name in ("image", "vector", "label", "pair", "flags", "nothing"):
        expected = np.array(column(samples, name, rows), samples[0][name].dtype)
        same(batch[name], expected.reshape(len(rows), *samples[0][name].shape))
    for name in ("tokens", "boxes"):
        assert isinstance(batch[name], RaggedArray)
        same(batch[name].to_list(), column(samples, name, rows))
        assert batch[name].values.flags.writeable
    for name in ("jpeg", "caption"):
        same(batch[name], column(samples, name, rows))


def test_metadata_columns_of_a_batch_have_their_numpy_types(cache, samples, same):
    rows = [1, 2, 4, 22]
    batch = cache[rows]
    dtypes = {
        "score": "f4",
        "count": "i8",
        "whole": "u8",
        "good": "?",
        "day": "M8[D]",
        "taken": "M8[ns]",
        "seen": "M8[ms]",
        "length": "m8[us]",
    }
    for name, dtype in dtypes.items():
        same(batch[name], np.array(column(samples, name, rows), dtype))
        assert batch[name].flags.writeable
    same(cache[[0, 1]]["split"], [None, samples[1]["split"]])
    same(cache[[0, 1]]["hash"], [None, samples[1]["hash"]])


def test_an_index_that_is_none_is_refused(cache):
    for index in (23, -24, [0, 23], np.array([-24]), np.array([2**63], np.uint64)):
        with pytest.raises(IndexError, match="out of range: there are 23"):
            cache[index]
    for index in (True, [True, False], [1, True], np.ones(23, bool)):
        with pytest.raises(TypeError, match="bool"):
            cache[index]
    for index in (1.0, [1.0], "image", (1, 2), None, [[1]], np.array([1.5])):
        with pytest.raises(TypeError):
            cache[index]


class Tensor:
    """As torch's: of any number of axes, and with an index if it holds one number."""

    def __init__(self, *values):
        self.values = np.array(values)
        self.ndim = 1

    def __index__(self):
        return int(self.values.item())

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_a_tensor_of_rows_gives_a_batch_even_of_one(cache, samples, same):
    for rows in ([7], [7, 0, -1]):
        labels = cache.fields["label"][Tensor(*rows)]
        same(labels, np.array(column(samples, "label", rows)))
    with pytest.raises(TypeError, match="bool"):
        cache[Tensor(True)]


def test_fields_restricts_names_and_gives_their_order(path, samples, same):
    with Cache.open(path, fields=["good", "caption", "label"]) as cache:
        same(cache[3], {name: samples[3][name] for name in ("good", "caption", "label")})
        assert list(cache[:2]) == ["good", "caption", "label"]
        assert list(cache.fields) == ["label", "caption"]
    with pytest.raises(SchemaError, match=r"(?s)nose.*image.*good"):
        Cache.open(path, fields=["image", "nose"])
    for wrong in ("image", {"image": 8}, [1], 5):
        with pytest.raises(TypeError, match="fields"):
            Cache.open(path, fields=wrong)


def test_stored_weights_and_built_ins_are_there_where_they_are_asked_for(caches):
    path = caches[0].path
    assert list(caches[0][3]) == list(caches[0][2:4]) == ["x", "y", "s"]
    asked = Cache.open(path, fields=["weight", "x", "_row", "cache_id", "_seed"])
    sample, batch = asked[3], asked[2:4]
    assert list(sample) == list(batch) == ["weight", "x", "_row", "cache_id", "_seed"]
    assert (sample["weight"], sample["x"].item(), sample["_row"]) == (1.5, 3, 3)
    assert batch["weight"].tolist() == [1.0, 1.5]
    assert batch["cache_id"].tolist() == [asked.cache_id] * 2
    with pytest.raises(ValueError, match="have no weights"):
        Cache.open(caches[1].path, fields=["weight"])


def test_a_null_number_is_none_in_a_sample_and_an_error_in_a_batch(write_cache):
    samples = [
        {"x": np.int8(0), "n": 5, "day": None},
        {"x": np.int8(1), "n": None, "day": np.datetime64("2024-02-29")},
    ]
    path = write_cache(fields={"x": Dense("int8")}, samples=samples, metadata={"n": "int16", "day": "date"})
    with Cache.open(path) as cache:
        assert (cache[0]["n"], cache[0]["day"]) == (5, None)
        assert (cache[1]["n"], cache[1]["day"]) == (None, np.datetime64("2024-02-29"))
        with pytest.raises(ValueError, match=r"\bn\b.*fill_null"):
            cache[1:]
        with pytest.raises(ValueError, match=r"\bday\b.*fill_null"):
            cache[:1]


def test_a_cache_without_samples_or_metadata_is_one(write_cache):
    path = write_cache(fields={"x": Dense("int8", (2,)), "t": Text()}, samples=[], metadata=None)
    with Cache.open(path) as cache:
        assert len(cache) == 0
        assert list(cache) == []
        assert cache[:]["x"].shape == (0, 2)
        assert cache[:]["t"] == []
        assert cache.fields["x"][:].shape == (0, 2)
        assert cache.fields["x"].lengths().tolist() == []
        assert cache.metadata.num_columns == 0
        with pytest.raises(IndexError):
            cache[0]


def test_metadata_is_a_pyarrow_table_that_pyarrow_can_compute_on(cache, samples):
    table = cache.metadata
    assert table.num_rows == 23
    assert table.schema.field("split").type == pa.large_string()
    assert table.schema.field("hash").type == pa.large_binary()
    assert table.schema.field("taken").type == pa.timestamp("ns", "UTC")
    for name in ("split", "hash", "score", "count", "whole", "good"):
        assert table[name].to_pylist() == column(samples, name, range(23))
    assert table.filter(pc.field("good")).num_rows == 11


def test_the_manifest_is_the_formats(cache, path):
    assert cache.manifest == Manifest.load(path)
    assert cache.manifest.cache_id == cache.cache_id
    assert cache.path == str(path)


def test_a_cache_says_what_it_is(cache, path):
    assert repr(cache).startswith("<Cache whole: 23 samples of image, vector, label")
    assert repr(cache).endswith(f"at {str(path)!r}>")
