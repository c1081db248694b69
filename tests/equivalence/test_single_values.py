"""Native and reference take the same numbers and strings of bytes, and store the same of them."""

import array
import ctypes
import datetime
import enum
import mmap

import numpy as np
import pytest

from dsrt_format import Bytes, Dense, Ragged, SchemaError, reference
from dsrt_format.columns import NUMBERS
from dsrt_format.dtypes import ITEMSIZE
from dsrt_native import CacheWriter

from .schemas import DTYPES, same


class Three(enum.IntEnum):
    THREE = 3


LIMITS = {
    limit + by for bits in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64) for limit in (2**bits,) for by in (-1, 0, 1)
}
FLOATS = [0.0, -0.0, 0.1, 0.5, 1.0, -3.0, 2.0**53, 2.0**70, 1e39, 1e-300, float("inf"), float("nan")]
PLAIN = [
    False,
    True,
    *sorted(LIMITS),
    *sorted(-limit for limit in LIMITS),
    2**65,
    10**60,
    *FLOATS,
    Three.THREE,
]

with np.errstate(over="ignore"):
    OF_NUMPY = [dtype.type(number) for dtype in DTYPES.values() for number in (0, 1, 3, 0.1)]
    OF_NUMPY += [np.float64(0.25), np.float32(0.1), np.float16(0.1), np.longdouble(0.5)]
OF_NUMPY += [np.iinfo(word).max for word in NUMBERS if "int" in word]
OF_NUMPY += [np.dtype(word).type(np.iinfo(word).max) for word in NUMBERS if "int" in word]
OF_NUMPY += [np.array([0x7F80_0001], np.uint32).view(np.float32)[0]]
OF_NUMPY += [np.array(1, dtype) for dtype in DTYPES.values()]

NEITHER = [
    None,
    "1",
    b"1",
    1j,
    [1],
    (),
    np.str_("1"),
    np.bytes_(b"1"),
    np.timedelta64(1, "us"),
    np.datetime64(1, "us"),
    datetime.timedelta(1),
    np.ma.masked,
    np.ones(1, np.int64),
    ctypes.c_int64(3),
    ctypes.c_float(3),
    memoryview(np.array(3)),
    memoryview(np.array([3])),
]
SINGLE = [*PLAIN, *OF_NUMPY, *NEITHER]

RELEASED = memoryview(b"ab")
RELEASED.release()
STRINGS = [
    b"a\0",
    np.bytes_(b"a\0"),
    bytearray(b"ab"),
    memoryview(b""),
    memoryview(b"abc")[1:],
    memoryview(b"abc")[:0:2],
    memoryview(b"abcd")[::2],
    memoryview(b"abcd")[::-1],
    *(memoryview(b"abcd").cast(code) for code in "cbB?iH"),
    memoryview(b"abcd").cast("B", (2, 2)),
    memoryview(ctypes.c_ubyte(1)),
    RELEASED,
    (ctypes.c_ubyte * 2)(),
    (ctypes.c_char * 2)(),
    array.array("B", [1]),
    array.array("b", [1]),
    array.array("i", [1]),
    mmap.mmap(-1, 4),
    np.array([1, 2], np.uint8),
    np.ma.array([1, 2], np.uint8, mask=[False, True]),
    np.zeros(4, np.uint8)[::2],
    np.zeros((2, 2), np.uint8),
    np.array(1, np.uint8),
    np.uint8(1),
    *(np.zeros(2, dtype) for dtype in ("int8", "bool", "S1", "V1", "M8[us]")),
    "ab",
    3,
    [1],
]


def check(folder, field, column, values):
    """Each value alone: both writers take it, or both refuse it, and what they took has the same bits."""
    fields, columns = {"x": Bytes() if field is None else field}, {} if column is None else {"m": column}
    samples = [{"x": b"" if field is None else value, "m": value} for value in values]
    samples = [{name: sample[name] for name in (*fields, *columns)} for sample in samples]
    ours, theirs = [], []
    with CacheWriter(folder / "native", fields, columns) as writer:
        for place, sample in enumerate(samples):
            try:
                writer.append(sample)
                ours.append(place)
            except SchemaError:
                pass
    found = []
    for place, sample in enumerate(samples):
        try:
            reference.write(folder / f"c{place}", fields, [sample], columns)
            found += reference.read(folder / f"c{place}")
            theirs.append(place)
        except SchemaError:
            pass
    differing = [values[place] for place in {*ours} ^ {*theirs}]
    assert not differing, differing
    for left, right in zip(reference.read(folder / "native"), found, strict=True):
        assert all(same(left[name], right[name]) for name in left), (left, right)


@pytest.mark.parametrize("dtype", ITEMSIZE)
def test_both_take_the_same_for_a_field_without_axes(tmp_path, dtype):
    check(tmp_path, Dense(dtype), None, SINGLE)


@pytest.mark.parametrize("word", ["bool", *NUMBERS])
def test_both_take_the_same_for_a_column_of_numbers(tmp_path, word):
    check(tmp_path, None, word, SINGLE)


@pytest.mark.parametrize("field", [Dense("uint8", (2,)), Ragged("uint8"), Ragged("int32")])
def test_both_take_the_same_for_a_field_with_axes(tmp_path, field):
    check(tmp_path, field, None, [*SINGLE, *STRINGS])


def test_both_take_the_same_for_a_field_of_bytes(tmp_path):
    check(tmp_path, Bytes(), None, STRINGS)


def test_both_take_the_same_for_a_binary_column(tmp_path):
    check(tmp_path, None, "binary", [None, *STRINGS])
