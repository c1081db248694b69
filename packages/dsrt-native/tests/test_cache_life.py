"""The life of a cache: opening, damage, pickling, rebuilds, closing, threads, forks."""

import os
import pickle
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

from dsrt_format import (
    DataError,
    FormatError,
    NotPublishedError,
    StaleCacheError,
)
from dsrt_native import Cache


def test_what_is_no_cache_is_refused(tmp_path, path, write_cache):
    with pytest.raises(TypeError, match=r"Cache\.open"):
        Cache(path)
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


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_many_threads_may_use_one_cache_at_once(path, samples, same, io):
    cache = Cache.open(path, io=io)
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


def test_a_field_refuses_pickling_and_says_what_to_do(path):
    with Cache.open(path) as cache, pytest.raises(TypeError, match="send the cache"):
        pickle.dumps(cache.fields["label"])


def test_bytes_are_no_path(path):
    with pytest.raises(TypeError, match=r"os\.fsdecode"):
        Cache.open(os.fsencode(path))


def test_files_lost_to_a_rebuild_are_said_to_be_so(write_cache):
    path = write_cache()
    old = Cache.open(path)
    shutil.rmtree(path)
    write_cache(count=22)
    with pytest.raises(DataError, match="open the cache again if it was rebuilt meanwhile"):
        old.fields["vector"][[20]]
