"""Single numbers and strings of bytes: what fields and columns take of them."""

import array
import ctypes
import enum
import mmap

import ml_dtypes
import numpy as np
import pytest

from dsrt_format import Bytes, Dense, Ragged, SchemaError, reference
from dsrt_format.columns import NUMBERS
from dsrt_format.dtypes import ITEMSIZE, numpy_dtype
from dsrt_format.payload_values import record_bytes
from dsrt_format.single_values import bytes_of, number_of

TYPES = ("bool", *NUMBERS)


class Three(enum.IntEnum):
    THREE = 3


# A type and a number that it holds.
TAKEN = [
    ("bool", True),
    ("bool", np.bool_(False)),
    ("int8", -128),
    ("int8", np.uint64(127)),
    ("int64", 3),
    ("int64", np.int8(3)),
    ("int64", Three.THREE),
    ("int64", -(2**63)),
    ("uint8", np.int64(255)),
    ("uint64", 2**64 - 1),
    ("float32", 0.5),
    ("float32", 1),
    ("float32", -0.0),
    ("float32", float("inf")),
    ("float32", float("nan")),
    ("float32", 2**64),
    ("float32", -(2**24)),
    ("float32", np.float32(0.1)),
    ("float32", np.float64(0.5)),
    ("float32", np.float16(0.1)),
    ("float32", ml_dtypes.float8_e5m2(0.5)),
    ("float64", 0.1),
    ("float64", np.float32(0.1)),
    ("float64", np.float64(0.1)),
    ("float64", 2**53),
    ("float64", np.uint64(2**63)),
    ("float64", -(2**64)),
]

# A type, a number that it does not hold, and what is said.
REFUSED = [
    ("bool", 1, "expected bool.*found 1"),
    ("bool", np.uint8(1), "expected bool.*found"),
    ("bool", 1.0, "expected bool.*found 1.0"),
    ("int8", 128, "128 is outside -128 to 127"),
    ("int8", np.int64(-129), "-129 is outside -128 to 127"),
    ("uint8", -1, "-1 is outside 0 to 255"),
    ("uint64", 2**64, "is outside 0 to"),
    ("int64", 10**60, "is outside"),
    ("int64", 10**5000, "an integer of 16610 bits is outside"),
    ("int64", True, "expected int64.*found True"),
    ("int64", np.bool_(True), "expected int64.*found"),
    ("int64", 1.0, "expected int64.*found 1.0"),
    ("int64", np.float32(1), "expected int64.*found"),
    ("float32", True, "expected float32.*found True"),
    ("float32", 0.1, r"0\.1 is no float32 exactly; call numpy\.float32\(\.\.\.\)"),
    ("float32", np.float64(0.1), "0.1 is no float32 exactly"),
    ("float32", 1e39, "is no float32 exactly"),
    ("float32", 2**24 + 1, "16777217 is no float32 exactly"),
    ("float64", 2**53 + 1, "is no float64 exactly"),
    ("float64", np.int64(2**53 + 1), "is no float64 exactly"),
    ("float64", 2**65, "is outside -18446744073709551616 to 18446744073709551616"),
    ("float64", -(2**65), "is outside"),
    ("float64", 10**400, "is outside"),
    ("float64", np.longdouble(0.5), "expected"),
    ("float64", ml_dtypes.bfloat16(0.5), "expected"),
    ("float32", ml_dtypes.float8_e4m3fn(0.5), "expected"),
    ("float64", np.timedelta64(1, "us"), "expected"),
    ("int64", np.timedelta64(1, "us"), "expected"),
    ("int64", np.datetime64(1, "us"), "expected"),
    ("float64", 1j, "expected"),
    ("float64", np.complex64(1), "expected"),
    ("int64", np.array(3, np.int32), "expected"),
    ("float64", np.array(0.5, np.float32), "expected"),
    ("float64", np.ma.masked, "mask"),
    ("int64", "1", "expected"),
    ("int64", np.str_("1"), "expected"),
    ("int64", [1], "expected"),
]


def kind(case):
    return case if isinstance(case, str) else type(case).__name__


@pytest.mark.parametrize(("word", "value"), TAKEN, ids=kind)
def test_a_number_is_stored_where_the_type_holds_it_in_a_field_as_in_a_column(tmp_path, word, value):
    reference.write(tmp_path / "c", {"x": Dense(word)}, [{"x": value, "m": value}], {"m": word})
    (found,) = reference.read(tmp_path / "c")
    assert (found["x"].dtype, found["x"].shape) == (np.dtype(word), ())
    assert found["x"].tobytes() == np.array(found["m"], word).tobytes()
    np.testing.assert_equal(found["x"].item(), number_of(value))
    assert np.signbit(found["x"]) == (number_of(value) < 0 or str(value) == "-0.0")


@pytest.mark.parametrize(("word", "value", "said"), REFUSED, ids=kind)
def test_a_number_that_the_type_does_not_hold_is_refused_in_a_field_as_in_a_column(
    tmp_path, word, value, said
):
    with pytest.raises(SchemaError, match=f"^sample 0, field 'x': .*{said}"):
        reference.write(tmp_path / "c", {"x": Dense(word)}, [{"x": value}])
    if not isinstance(value, np.ma.MaskedArray):
        with pytest.raises(SchemaError, match=f"^sample 0, metadata column 'm': .*{said}"):
            reference.write(tmp_path / "c", {"x": Bytes()}, [{"x": b"", "m": value}], {"m": word})


@pytest.mark.parametrize("dtype", sorted(ITEMSIZE.keys() - set(TYPES)))
def test_fields_of_other_dtypes_take_scalars_of_that_very_dtype_and_no_other_number(dtype):
    element = np.ones(1, numpy_dtype(dtype))
    assert record_bytes(Dense(dtype), element[0]) == (element.tobytes(), ())
    assert record_bytes(Dense(dtype), element[0, ...]) == (element.tobytes(), ())
    for value in 1, 1.0, True, np.float32(1), np.int8(1), 10**5000:
        with pytest.raises(ValueError, match=f"is not stored as {dtype}; give an array or scalar of NumPy"):
            record_bytes(Dense(dtype), value)


def test_a_scalar_of_the_very_dtype_keeps_the_bits_of_a_nan():
    signalling = np.array([0x7F80_0001], np.uint32).view(np.float32)
    assert record_bytes(Dense("float32"), signalling[0]) == (signalling.tobytes(), ())


@pytest.mark.parametrize("field", [Dense("int64", (1,)), Ragged("int64")])
@pytest.mark.parametrize("value", [3, np.int8(3), 3.0, True])
def test_fields_with_axes_take_no_single_number(field, value):
    with pytest.raises(ValueError, match="expected"):
        record_bytes(field, value)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (Dense("int64"), ctypes.c_int64(3), np.array(3)),
        (Dense("int64"), memoryview(np.array(3)), np.array(3)),
        (Dense("int32", (2,)), array.array("i", [1, 2]), np.array([1, 2], np.int32)),
        (Ragged("int32"), memoryview(np.arange(6, dtype=np.int32))[::2], np.array([0, 2, 4], np.int32)),
        (Ragged("uint8"), b"a\0", np.array([97, 0], np.uint8)),
    ],
)
def test_whatever_has_the_buffer_protocol_is_an_array(field, value, expected):
    assert record_bytes(field, value) == (expected.tobytes(), expected.shape)


def test_a_buffer_of_another_dtype_is_refused_as_an_array_is():
    with pytest.raises(ValueError, match="expected the dtype int64, found int32"):
        record_bytes(Dense("int64"), ctypes.c_int32(3))


OF_BYTES = [
    (b"a\0", b"a\0"),
    (np.bytes_(b"a\0"), b"a\0"),
    (bytearray(b"ab"), b"ab"),
    (memoryview(b"abc")[1:], b"bc"),
    (memoryview(b"ab").cast("c"), b"ab"),
    (memoryview(b""), b""),
    (memoryview(b"abc")[:0:2], b""),
    (array.array("B", [1, 2]), b"\1\2"),
    (np.array([1, 2], np.uint8), b"\1\2"),
    (mmap.mmap(-1, 4), bytes(4)),
]

NOT_OF_BYTES = [
    None,
    "ab",
    3,
    [1, 2],
    memoryview(b"abcd")[::2],
    memoryview(b"abcd")[::-1],
    memoryview(b"abcd").cast("b"),
    memoryview(b"abcd").cast("?"),
    memoryview(b"abcd").cast("i"),
    memoryview(b"abcd").cast("B", (2, 2)),
    memoryview(ctypes.c_ubyte(1)),
    (ctypes.c_ubyte * 2)(),
    array.array("b", [1]),
    np.zeros(4, np.uint8)[::2],
    np.zeros((2, 2), np.uint8),
    np.array(1, np.uint8),
    np.uint8(1),
    np.zeros(2, np.int8),
    np.zeros(2, bool),
    np.zeros(2, "S1"),
    np.zeros(1, "M8[us]"),
]


@pytest.mark.parametrize(("value", "data"), OF_BYTES, ids=kind)
def test_bytes_are_bytes_or_a_buffer_of_them_without_gaps(tmp_path, value, data):
    reference.write(tmp_path / "c", {"x": Bytes()}, [{"x": value, "m": value}], {"m": "binary"})
    assert reference.read(tmp_path / "c") == [{"x": data, "m": data}]


@pytest.mark.parametrize("value", NOT_OF_BYTES, ids=kind)
def test_what_would_have_to_be_made_bytes_is_refused(tmp_path, value):
    said = r"bytes are bytes or a buffer of them .* call \.encode\(\) on a str, \.tobytes\(\) on an array"
    with pytest.raises(SchemaError, match=f"^sample 0, field 'x': expected bytes, found .*{said}"):
        reference.write(tmp_path / "c", {"x": Bytes()}, [{"x": value}])
    if value is not None:
        with pytest.raises(
            SchemaError, match=rf"(?s)^sample 0, metadata column 'm': expected binary .*{said}"
        ):
            reference.write(tmp_path / "c", {"x": Bytes()}, [{"x": b"", "m": value}], {"m": "binary"})


def test_a_memoryview_that_was_released_is_no_bytes():
    view = memoryview(b"ab")
    view.release()
    assert bytes_of(view) is None


def test_a_masked_array_is_no_bytes():
    with pytest.raises(ValueError, match="masked"):
        bytes_of(np.ma.array([1, 2], np.uint8, mask=[False, True]))
