"""Batches in NumPy: every dtype bit for bit, views that keep the memory alive."""

import gc
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from dsrt_format import Dense, Ragged, reference
from dsrt_format.dtypes import ITEMSIZE, numpy_dtype
from dsrt_native import Cache


@pytest.mark.parametrize("name", ITEMSIZE)
def test_every_dtype_arrives_bit_for_bit(write_cache, name):
    dtype = numpy_dtype(name)
    high = 2 if name == "bool" else 256
    bits = np.random.default_rng(0).integers(0, high, (4, 3 * dtype.itemsize), np.uint8)
    records = bits.view(dtype)
    fields = {"d": Dense(name, (3,)), "z": Dense(name, (3,), codec="zstd"), "r": Ragged(name)}
    samples = [{"d": r, "z": r, "r": r[: i % 3]} for i, r in enumerate(records)]
    with Cache.open(write_cache(fields=fields, samples=samples, metadata=None)) as cache:
        batch = cache[[2, 0, 1]]
        view = cache.fields["d"][1:3]
        sample = cache[2]
    for array in (batch["d"], batch["z"]):
        assert array.dtype == dtype
        assert array.view(np.uint8).tolist() == bits[[2, 0, 1]].tolist()
    assert batch["r"].values.dtype == dtype
    assert batch["r"].values.tobytes() == records[2, :2].tobytes() + records[1, :1].tobytes()
    assert view.tobytes() == bits[1:3].tobytes()
    assert sample["z"].tobytes() == bits[2].tobytes()


@given(array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3), st.integers(0, 3))
def test_dense_shapes_are_kept(tmp_path_factory, shape, count):
    path = tmp_path_factory.mktemp("shape") / "cache"
    records = np.arange(count * int(np.prod(shape)), dtype=np.int16).reshape(count, *shape)
    reference.write(path, {"x": Dense("int16", shape)}, ({"x": r} for r in records))
    with Cache.open(path) as cache:
        assert cache[:]["x"].shape == records.shape
        np.testing.assert_equal(cache[::-1]["x"], records[::-1])
        for i in range(count):
            assert cache[i]["x"].shape == shape
            assert isinstance(cache[i]["x"], np.ndarray)


def test_arrays_outlive_batch_and_cache(path, samples):
    cache = Cache.open(path)
    batch = cache[:]
    cache.close()
    image, tokens = batch["image"], batch["tokens"].to_list()[4]
    del batch, cache
    gc.collect()
    np.testing.assert_equal(image[22], samples[22]["image"])
    np.testing.assert_equal(tokens, samples[4]["tokens"])


def test_memory_is_written_again_only_when_no_array_views_it(tmp_path):
    # Of a size that no other test leaves in the pool.
    records = np.random.default_rng(0).integers(0, 256, (64, 96 << 10), np.uint8)
    reference.write(tmp_path / "c", {"x": Dense("uint8", (96 << 10,))}, ({"x": r} for r in records))
    with Cache.open(tmp_path / "c") as cache:
        batch = cache[:32]
        address = batch["x"].ctypes.data
        view = batch["x"][3:5]
        del batch
        gc.collect()
        others = [cache[32:] for _ in range(4)]
        assert address not in [other["x"].ctypes.data for other in others]
        np.testing.assert_array_equal(view, records[3:5])
        del view
        gc.collect()
        again = cache[32:]
    assert again["x"].ctypes.data == address
    np.testing.assert_array_equal(again["x"], records[32:])


def test_arrays_begin_at_multiples_of_64_bytes(path):
    with Cache.open(path) as cache:
        batch = cache[:]
    dense = [batch[name] for name in ("image", "vector", "label", "pair", "good", "seen")]
    ragged = [array for name in ("tokens", "boxes") for array in batch[name] if array is not None]
    assert [array.ctypes.data % 64 for array in dense + ragged] == [0] * 11


def test_bfloat16_without_ml_dtypes_names_the_package(tmp_path):
    value = np.ones(2, ml_dtypes.bfloat16)
    reference.write(tmp_path / "c", {"x": Dense("bfloat16", (2,))}, [{"x": value}])
    script = """
import sys
sys.modules["ml_dtypes"] = None
from dsrt_native import Cache
cache = Cache.open(sys.argv[1])
try:
    cache[0]
except ImportError as error:
    assert "ml_dtypes" in str(error) and "bfloat16" in str(error)
else:
    raise AssertionError("no error")
"""
    subprocess.run([sys.executable, "-c", script, tmp_path / "c"], check=True, timeout=60)
