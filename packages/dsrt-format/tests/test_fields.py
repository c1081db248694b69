import dataclasses
import pickle

import numpy as np
import pytest

from dsrt_format import Bytes, Dense, Ragged, SchemaError, Text, Zstd
from dsrt_format.dtypes import ITEMSIZE, name_of, numpy_dtype
from dsrt_format.fields import codec_name


def test_specs_are_values():
    assert Dense("uint8", [2, 3]) == Dense("uint8", (2, 3))
    assert Dense("uint8", (2, 3)) != Dense("uint8", (3, 2))
    assert Ragged("int32") == Ragged("int32", 1)
    assert len({Text(), Text(), Bytes()}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Text().codec = "zstd"


def test_zstd_is_short_for_the_long_form():
    for spec in (
        Dense("uint8", codec="zstd"),
        Ragged("uint8", codec="zstd"),
        Bytes(codec="zstd"),
        Text(codec="zstd"),
    ):
        assert spec.codec == Zstd(3)
        assert codec_name(spec.codec) == "zstd"
    assert codec_name(Text().codec) == "raw"
    assert codec_name(Zstd(dictionary=b"12345678")) == "zstd-dict"
    assert codec_name(Zstd(dictionary="train")) == "zstd-dict"


def test_a_codec_shows_how_it_was_made():
    assert repr(Zstd(4)) == "Zstd(4)"
    assert repr(Zstd(dictionary=b"12345678")) == "Zstd(3, dictionary=<8 bytes>)"
    assert repr(Zstd(dictionary="train")) == "Zstd(3, dictionary='train')"


def test_specs_survive_pickling():
    spec = Dense("uint8", (4, 4, 3), codec=Zstd(5, dictionary=b"x" * 8), delta=3)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert (spec.kind, spec.dtype, spec.shape, spec.delta) == ("dense", "uint8", (4, 4, 3), 3)
    assert (Text().kind, Text().dtype, Text().delta) == ("text", "uint8", 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dense("uint7"),
        lambda: Dense("float"),
        lambda: Dense("uint8", (-1,)),
        lambda: Dense("uint8", (1,) * 32),
        lambda: Dense("uint16", (2**24, 2**24)),
        lambda: Dense("uint8", (2**49, 0)),
        lambda: Dense("uint8", codec="lz4"),
        lambda: Dense("uint8", codec=None),
        lambda: Dense("int8", codec="zstd", delta=1),
        lambda: Dense("uint8", delta=1),
        lambda: Dense("uint8", codec="zstd", delta=256),
        lambda: Dense("uint8", codec="zstd", delta=-1),
        lambda: Ragged("int32", 0),
        lambda: Ragged("int32", 32),
        lambda: Zstd(0),
        lambda: Zstd(23),
        lambda: Zstd(dictionary=b"1234567"),
        lambda: Zstd(dictionary=bytes(2**20 + 1)),
    ],
)
def test_illegal_values_are_schema_errors(make):
    with pytest.raises(SchemaError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dense(np.uint8),
        lambda: Dense(np.dtype("uint8")),
        lambda: Dense("uint8", 3),
        lambda: Dense("uint8", (True,)),
        lambda: Dense("uint8", (2.0,)),
        lambda: Dense("uint8", codec="zstd", delta=True),
        lambda: Ragged("int32", "1"),
        lambda: Zstd("3"),
        lambda: Zstd(dictionary="12345678"),
        lambda: Zstd(dictionary=12345678),
    ],
)
def test_illegal_types_are_type_errors(make):
    with pytest.raises(TypeError):
        make()


def test_the_largest_legal_shapes_are_accepted():
    assert Dense("uint8", (1,) * 31).shape == (1,) * 31
    assert Dense("uint8", (2**48,)).shape == (2**48,)
    assert Dense("uint8", (2**48, 0, 0)).shape == (2**48, 0, 0)
    assert Ragged("int32", 31).ndim == 31


@pytest.mark.parametrize("name", ITEMSIZE)
def test_every_dtype_has_a_numpy_dtype_of_its_size_and_name(name):
    dtype = numpy_dtype(name)
    assert dtype.itemsize == ITEMSIZE[name]
    assert name_of(dtype) == name


@pytest.mark.parametrize(
    "dtype", ["O", "U3", "S3", "M8[us]", "m8[us]", "V2", "f4,f4", "(2,)f4", "longdouble"]
)
def test_other_numpy_dtypes_have_no_name(dtype):
    assert name_of(np.dtype(dtype)) is None


def test_an_unknown_dtype_name_is_refused():
    with pytest.raises(ValueError, match="unknown dtype 'int128'"):
        numpy_dtype("int128")


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_without_ml_dtypes_the_error_names_the_package(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match="ml_dtypes") as caught:
        numpy_dtype(name)
    assert caught.value.name == "ml_dtypes"
