"""Cache: samples by number, batches, fields, the table of metadata, and its life."""

import os
import pickle
import shutil
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dsrt_format import (
    DataError,
    Dense,
    FormatError,
    Manifest,
    NotPublishedError,
    SchemaError,
    StaleCacheError,
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


def test_fields_restricts_names_and_gives_their_order(path, samples, same):
    with Cache.open(path, fields=["good", "caption", "label"]) as cache:
        same(cache[3], {name: samples[3][name] for name in ("good", "caption", "label")})
        assert list(cache[:2]) == ["good", "caption", "label"]
        assert list(cache.fields) == ["label", "caption"]
    with pytest.raises(SchemaError, match=r"(?s)nose.*image.*good"):
        Cache.open(path, fields=["image", "nose"])
    for wrong in ("image", {"image": "uint8"}, [1]):
        with pytest.raises(TypeError, match="fields"):
            Cache.open(path, fields=wrong)


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


def test_fields_say_what_they_hold(cache):
    described = {name: (f.kind, f.dtype, f.shape, f.codec) for name, f in cache.fields.items()}
    assert described["image"] == ("dense", "uint8", (4, 5, 3), "zstd")
    assert described["vector"] == ("dense", "float32", (6,), "raw")
    assert described["label"] == ("dense", "int64", (), "raw")
    assert described["tokens"] == ("ragged", "int32", (None,), "zstd-dict")
    assert described["boxes"] == ("ragged", "float64", (None, None), "raw")
    assert described["jpeg"] == ("bytes", "uint8", (None,), "raw")
    assert described["caption"] == ("text", "uint8", (None,), "zstd")
    assert repr(cache.fields["image"]) == "<Field image: dense uint8[4, 5, 3], zstd, 23 records>"
    with pytest.raises(KeyError):
        cache.fields["split"]


def test_a_field_gives_records_and_batches(cache, samples, same):
    for name, field in cache.fields.items():
        assert len(field) == 23
        same(field[5], samples[5][name])
        same(field[-1], samples[-1][name])
        many = field[[3, -1]]
        records = many.to_list() if isinstance(many, RaggedArray) else list(many)
        assert len(records) == 2
        np.testing.assert_equal(records[1], samples[22][name])
        with pytest.raises(IndexError):
            field[23]


def test_lengths_count_elements_without_reading_payload(cache, samples):
    for name, field in cache.fields.items():
        lengths = field.lengths()
        assert lengths.dtype == np.int64
        expected = [
            len(v.encode()) if isinstance(v, str) else len(v) if isinstance(v, bytes) else np.size(v)
            for v in column(samples, name, range(23))
        ]
        assert lengths.tolist() == expected


def test_a_slice_of_a_fixed_field_inside_a_shard_is_a_view_of_the_file(path, samples):
    cache = Cache.open(path)
    inside = cache.fields["vector"][7:14]
    assert not inside.flags.writeable
    assert not inside.flags.owndata
    across = cache.fields["vector"][6:14]
    assert across.flags.writeable
    cache.close()
    np.testing.assert_equal(inside, np.stack(column(samples, "vector", range(7, 14))))
    np.testing.assert_equal(across, np.stack(column(samples, "vector", range(6, 14))))
    with pytest.raises(ValueError, match="read-only"):
        inside[0] = 0


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


def test_what_is_no_cache_is_refused(tmp_path, path, write_cache):
    with pytest.raises(NotPublishedError) as missing:
        Cache.open(tmp_path / "nowhere")
    assert missing.value.rule == "R000"
    assert missing.value.cache == str(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        Cache.open(tmp_path)
    short = write_cache("short")
    (file := short / "fields/vector/00001.shard").chmod(0o644)
    os.truncate(file, 100)
    with pytest.raises(FormatError) as found:
        Cache.open(short)
    assert (found.value.rule, found.value.field, found.value.shard) == ("R030", "vector", 1)
    assert not isinstance(found.value, DataError)


def test_a_damaged_record_names_its_place_and_spares_the_others(write_cache, samples, same):
    path = write_cache()
    (file := path / "fields/vector/00002.shard").chmod(0o644)
    data = bytearray(file.read_bytes())
    data[64 + 24 * 3] ^= 1
    file.write_bytes(data)
    with Cache.open(path) as cache:
        with pytest.raises(DataError) as found:
            cache[17]
        error = found.value
        assert (error.rule, error.field, error.shard, error.sample) == ("R033", "vector", 2, 17)
        assert error.cache == str(path)
        assert all(word in str(error) for word in ("R033", "vector", "17", str(path)))
        same(cache[16], samples[16])
        with pytest.raises(DataError):
            cache.fields["vector"][14:18]
    with Cache.open(path, verify=False) as cache:
        assert (cache.fields["vector"][17] != samples[17]["vector"]).sum() == 1


def test_pickling_opens_the_same_cache_again_or_says_that_it_is_gone(write_cache, samples, same):
    path = write_cache()
    with Cache.open(path, fields=["label", "good"], verify=False) as cache:
        pickled = pickle.dumps(cache)
        assert len(pickled) < 1000
    again = pickle.loads(pickled)
    same(again[5], {name: samples[5][name] for name in ("label", "good")})
    again.close()
    shutil.rmtree(path)
    write_cache(count=22)
    with pytest.raises(StaleCacheError, match="another one by now"):
        pickle.loads(pickled)
    shutil.rmtree(path)
    with pytest.raises(NotPublishedError):
        pickle.loads(pickled)


def test_a_rebuilt_path_gives_the_new_data_and_an_old_handle_the_old(write_cache, samples, same):
    path = write_cache()
    old = Cache.open(path)
    path.rename(path.with_name("moved"))
    write_cache(samples=[{**samples[0], "label": np.array(7)}])
    new = Cache.open(path)
    assert new.fields["label"][0] == 7
    same(old[20], samples[20])
    with pytest.raises(StaleCacheError):
        old.manifest
    assert old.cache_id != new.cache_id


def test_a_closed_cache_refuses_to_read(path, samples, same):
    with Cache.open(path) as cache:
        kept = cache[3]
    cache.close()
    for use in (lambda: cache[0], lambda: cache[:], lambda: cache.fields["image"][0], lambda: cache.metadata):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    same(kept, samples[3])
    assert len(cache) == 23


def test_many_threads_may_use_one_cache_at_once(path, samples, same):
    cache = Cache.open(path)
    failures = []

    def read(seed):
        try:
            for row in np.random.default_rng(seed).integers(0, 23, 40):
                same(cache[row], samples[row])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_forked_child_reads_on(path):
    script = f"""
import os
from dsrt_native import Cache
cache = Cache.open({str(path)!r})
before = cache[3]["label"]
child = os.fork()
if child == 0:
    os._exit(0 if cache[3]["label"] == before and len(list(cache)) == 23 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_importing_brings_in_neither_pyarrow_nor_frameworks_and_starts_no_thread():
    script = """
import os, sys, threading
import numpy

threads = len(os.listdir("/proc/self/task"))
import dsrt_native

foreign = {"pyarrow", "polars", "torch", "ml_dtypes", "pandas"} & set(sys.modules)
assert not foreign, foreign
assert threading.active_count() == 1
assert len(os.listdir("/proc/self/task")) == threads
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_cache_says_what_it_is(cache, path):
    assert repr(cache).startswith("<Cache whole: 23 samples of image, vector, label")
    assert repr(cache).endswith(f"at {str(path)!r}>")
