"""Errors of the engine are the classes of dsrt_format, and builtins where Python people expect them."""

import ctypes
import pickle
import subprocess
import sys

import numpy as np
import pytest

from dsrt_format import Bytes, DataError, Dense, InternalError, Text, reference
from dsrt_native import Cache, Population


class Schema(ctypes.Structure):
    """ArrowSchema of the C data interface."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("format", "name", "metadata")] + [
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary", "release", "private_data")),
    ]


class Broken:
    """Arrow data that breaks the interface's rules: its schema has no format."""

    def __arrow_c_array__(self, requested_schema=None):
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype = ctypes.py_object
        capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.held = Schema(), (ctypes.c_int64 * 10)()
        schema, array = map(ctypes.addressof, self.held)
        return capsule(schema, b"arrow_schema", None), capsule(array, b"arrow_array", None)


def test_a_panic_of_the_engine_is_an_ordinary_exception(path, capfd):
    with Cache.open(path) as cache:
        with pytest.raises(InternalError, match="defect of DSRT"):
            Population([cache], columns={"c": Broken()})
        assert len(cache[:2]["label"]) == 2
    assert "panicked" in capfd.readouterr().err


def test_what_the_system_refuses_is_an_oserror_with_its_number(path):
    script = """
import errno, resource, sys
from dsrt_native import Cache
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
try:
    Cache.open(sys.argv[1])
except OSError as error:
    assert error.errno == errno.EMFILE, error
    assert sys.argv[1] in str(error), error
else:
    raise AssertionError("no error")
"""
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=60)


def test_a_data_error_of_the_engine_pickles_with_its_place(write_cache):
    path = write_cache()
    (file := path / "fields/caption/00001.shard").chmod(0o644)
    data = bytearray(file.read_bytes())
    data[66] ^= 8
    file.write_bytes(data)
    with Cache.open(path) as cache, pytest.raises(DataError) as found:
        cache[7]
    again = pickle.loads(pickle.dumps(found.value))
    assert str(again) == str(found.value)
    place = (again.rule, again.cache, again.field, again.shard, again.sample)
    assert place == ("R033", str(path), "caption", 1, 7)


def test_the_error_is_that_of_the_first_damaged_sample_of_a_batch(tmp_path):
    """Some kinds of damage are found before others; what is raised does not show it."""

    def write(name, field, values):
        path = tmp_path / name
        reference.write(path, {"x": field}, [{"x": value} for value in values])
        return path

    def flip(path, at):
        shard = path / "fields/x/00000.shard"
        data = bytearray(shard.read_bytes())
        data[at] ^= 0xFF
        shard.write_bytes(data)

    raw = write("raw", Dense("int64", (100,)), [np.arange(i, i + 100) for i in range(20)])
    packed = write("packed", Dense("int64", (100,), codec="zstd"), [np.arange(i, i + 100) for i in range(20)])
    text = write("text", Text(), [f"text {i}" for i in range(20)])
    flip(raw, 64 + 800 * 5)  # A value of sample 5, which is found when it is copied.
    # Where the record of sample 9 ends, which is found before that.
    flip(packed, -12 * (20 - 9) + 7)
    flip(text, -20 * (20 - 9) + 7)
    flip(text, 64)  # No UTF-8, which is found last of all.
    for io in ("mmap", "pread"):
        mixed = Population([Cache.open(path, io=io) for path in (raw, packed)])
        unverified = Cache.open(text, io=io, verify=False).population
        for population, rows, sample in (
            (mixed, [0, 5, 29], 5),
            (mixed, [0, 29, 5], 9),
            (unverified, [1, 0, 9], 0),
            (unverified, [1, 9, 0], 9),
        ):
            with pytest.raises(DataError) as caught:
                population.gather(rows, ["x"])
            assert caught.value.sample == sample


def test_python_without_memory_for_what_a_batch_holds_is_a_memory_error(tmp_path):
    """The batch fits; the bytes that are made of it do not."""
    size = 256 << 20
    reference.write(tmp_path / "x", {"x": Bytes(codec="zstd")}, [{"x": bytes(size)}])
    script = """
import resource, sys
from dsrt_native import Cache
cache = Cache.open(sys.argv[1])
room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (400 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
try:
    cache[:1]
except MemoryError:
    pass
else:
    raise AssertionError("no error")
"""
    subprocess.run([sys.executable, "-c", script, tmp_path / "x"], check=True, timeout=60)


def test_little_address_space_is_left_to_others(tmp_path):
    """Files are read then, and not mapped: without memory for a thread's own data, the process would end."""
    samples = [{"x": np.array(i)} for i in range(600)]
    reference.write(tmp_path / "x", {"x": Dense("int64")}, samples, samples_per_shard=1)
    script = """
import resource, sys
from dsrt_native import Cache
cache = Cache.open(sys.argv[1])
room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (12 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
assert cache[:]["x"].tolist() == list(range(600))
assert ".shard" not in open("/proc/self/maps").read()
"""
    subprocess.run([sys.executable, "-c", script, tmp_path / "x"], check=True, timeout=60)


def test_the_rows_of_a_population_are_not_copied_where_memory_is_short(path):
    """They fit once; a second copy, if the system refuses it, must not end the process."""
    script = """
import resource, sys
import numpy as np
from dsrt_native import Cache, Population
caches = [Cache.open(sys.argv[1])]
rows = np.zeros(16 << 20, np.int64)
room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (320 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
population = Population(caches, rows=rows)
assert len(population) == len(rows)
"""
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=60)
