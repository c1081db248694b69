"""Errors of the engine are the classes of dsrt_format, and builtins where Python people expect them."""

import ctypes
import pickle
import subprocess
import sys

import pytest

from dsrt_format import DataError, InternalError
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
