import filecmp
import math
import os
import shutil
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsrt_format import (
    Bytes,
    CacheExistsError,
    DataError,
    Dense,
    FormatError,
    Manifest,
    NotPublishedError,
    Ragged,
    SchemaError,
    Text,
    Zstd,
    reference,
    validate,
)
from dsrt_format.columns import COLUMN_TYPES, NUMBERS
from dsrt_format.dtypes import ITEMSIZE, numpy_dtype

CODECS = ["raw", "zstd", Zstd(1, dictionary=bytes(range(64)))]


def same(a, b):
    """Equal in type, dtype, shape and every bit."""
    if isinstance(a, np.ndarray | np.generic):
        return (type(a), a.dtype, a.shape, a.tobytes()) == (type(b), b.dtype, b.shape, b.tobytes())
    if isinstance(a, float):
        return type(b) is float and np.float64(a).tobytes() == np.float64(b).tobytes()
    return type(a) is type(b) and a == b


def assert_same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert set(a) == set(b)
        for name in a:
            assert same(a[name], b[name]), (name, a[name], b[name])


def bits(dtype, shape, seed=0):
    """An array of random bits, so that floats hold NaNs of every payload."""
    count = math.prod(shape)
    data = np.random.default_rng(seed).bytes(count * ITEMSIZE[dtype])
    if dtype == "bool":
        data = bytes(byte & 1 for byte in data)
    return np.ndarray(shape, numpy_dtype(dtype), bytearray(data))


def assert_same_files(left, right):
    compared = filecmp.dircmp(left, right)
    assert not compared.left_only
    assert not compared.right_only
    assert filecmp.cmpfiles(left, right, compared.common_files, shallow=False)[1:] == ([], [])
    for name in compared.common_dirs:
        assert_same_files(left / name, right / name)


def test_the_complete_example_is_read_exactly(vectors):
    samples = reference.read(vectors / "example" / "demo")
    assert_same(
        samples,
        [
            {
                "image": np.full((2, 2, 3), i, np.uint8),
                "feat": np.arange(i, i + 4, dtype=np.float32),
                "tokens": np.arange(i, dtype=np.int32),
                "jpeg": b"\xff\xd8" * i,
                "caption": "ü" * i,
                "label": i,
                "split": "train",
            }
            for i in range(5)
        ],
    )
    assert reference.read(str(vectors / "example" / "empty")) == []


def test_the_examples_are_written_again_with_the_same_bytes(vectors, tmp_path):
    example = vectors / "example"
    reference.write(tmp_path / "empty", {"x": Dense("uint8")}, [])
    assert_same_files(example / "empty", tmp_path / "empty")

    dictionary = (example / "demo" / "fields" / "tokens" / "dictionary.bin").read_bytes()[64:]
    fields = {
        "image": Dense("uint8", (2, 2, 3)),
        "feat": Dense("float32", (4,), codec="zstd"),
        "tokens": Ragged("int32", codec=Zstd(dictionary=dictionary)),
        "jpeg": Bytes(),
        "caption": Text(codec="zstd"),
    }
    written = reference.write(
        tmp_path / "demo",
        fields,
        reference.read(example / "demo"),
        {"label": "int64", "split": "string"},
        fingerprint="git:1a2b3c",
        attributes={"note": "größe", "mean": [0.485, 0.456]},
        samples_per_shard=3,
    )
    expected = Manifest.load(example / "demo")
    assert Manifest.load(tmp_path / "demo") == written
    # Frames of zstd and the bytes of Arrow differ by version; everything else is equal.
    for field, other in zip(written.fields, expected.fields, strict=True):
        assert (field.name, field.kind, field.dtype, field.codec) == (
            other.name,
            other.kind,
            other.dtype,
            other.codec,
        )
        assert field.dictionary == other.dictionary
        if field.codec == "raw":
            assert field == other
            folder = f"fields/{field.name}"
            assert_same_files(example / "demo" / folder, tmp_path / "demo" / folder)
    assert (written.shards, written.attributes) == (expected.shards, expected.attributes)
    assert_same(reference.read(tmp_path / "demo"), reference.read(example / "demo"))


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("dtype", ITEMSIZE)
def test_every_dtype_in_every_codec_keeps_every_bit(tmp_path, dtype, codec):
    fields = {
        "scalar": Dense(dtype, codec=codec),
        "empty": Dense(dtype, (3, 0, 2), codec=codec),
        "grid": Dense(dtype, (2, 3), codec=codec),
        "line": Ragged(dtype, codec=codec),
        "box": Ragged(dtype, 3, codec=codec),
    }
    samples = []
    for i in range(7):
        shapes = {"scalar": (), "empty": (3, 0, 2), "grid": (2, 3), "line": (i,), "box": (i, 1, 2 - i % 3)}
        samples.append({name: bits(dtype, shape, i) for name, shape in shapes.items()})
    reference.write(tmp_path / "c", fields, samples, samples_per_shard=3)
    assert_same(reference.read(tmp_path / "c"), samples)
    assert validate(tmp_path / "c") == []


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_bytes_and_text_of_every_plane_come_back(tmp_path, codec):
    texts = ["", "\0", "a\0b", "ß", "\u2028", "😀", "\U0010ffff", "\ufeffx", "e\u0301", "é"]
    texts.append("\ud7ff\ue000" * 50)
    samples = [{"b": text.encode(), "t": text} for text in texts]
    reference.write(tmp_path / "c", {"b": Bytes(codec=codec), "t": Text(codec=codec)}, samples)
    assert_same(reference.read(tmp_path / "c"), samples)


@pytest.mark.parametrize("distance", [1, 3, 255])
def test_the_delta_filter_is_undone(tmp_path, distance):
    fields = {
        "d": Dense("uint8", (5, 7, 3), codec="zstd", delta=distance),
        "r": Ragged("uint8", 2, codec=Zstd(dictionary=b"12345678"), delta=distance),
    }
    samples = [{"d": bits("uint8", (5, 7, 3), i), "r": bits("uint8", (i, 3), i)} for i in range(4)]
    manifest = reference.write(tmp_path / "c", fields, samples)
    assert [field.delta for field in manifest.fields] == [distance, distance]
    assert_same(reference.read(tmp_path / "c"), samples)


def test_arrays_that_are_read_are_writable_and_own_their_memory(tmp_path):
    reference.write(tmp_path / "c", {"x": Dense("int32", (2,))}, [{"x": np.zeros(2, np.int32)}])
    array = reference.read(tmp_path / "c")[0]["x"]
    array += 1
    assert reference.read(tmp_path / "c")[0]["x"].tolist() == [0, 0]


def test_strided_and_fortran_arrays_are_stored_in_c_order(tmp_path):
    base = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    samples = [{"x": base.T}, {"x": np.asfortranarray(base.T)}, {"x": base.T[::-1, ::-1, ::-1]}]
    reference.write(tmp_path / "c", {"x": Dense("int16", (4, 3, 2))}, samples)
    for found, given_ in zip(reference.read(tmp_path / "c"), samples, strict=True):
        assert np.array_equal(found["x"], given_["x"])


def test_numpy_scalars_are_arrays_without_axes(tmp_path):
    reference.write(tmp_path / "c", {"x": Dense("float64")}, [{"x": np.float64(2.5)}])
    assert_same(reference.read(tmp_path / "c"), [{"x": np.array(2.5)}])


def shards_of(tmp_path, fields, samples, **options):
    manifest = reference.write(tmp_path / "c", fields, samples, **options)
    shutil.rmtree(tmp_path / "c")
    return manifest.shards


def test_shards_are_closed_by_samples_and_by_stored_bytes(tmp_path):
    fields = {"a": Bytes(), "b": Bytes()}
    samples = [{"a": bytes(n), "b": b""} for n in (4, 5, 1, 9, 20, 0, 0)]
    assert shards_of(tmp_path, fields, samples) == (7,)
    assert shards_of(tmp_path, fields, samples, samples_per_shard=3) == (3, 3, 1)
    assert shards_of(tmp_path, fields, samples, samples_per_shard=7) == (7,)
    assert shards_of(tmp_path, fields, samples, shard_bytes=10) == (3, 2, 2)
    assert shards_of(tmp_path, fields, samples, shard_bytes=1, samples_per_shard=2) == (1, 1, 1, 1, 1, 2)


def test_a_cache_without_samples_keeps_its_columns_and_dictionary(tmp_path):
    fields = {"t": Text(codec=Zstd(dictionary=b"12345678"))}
    manifest = reference.write(tmp_path / "c", fields, [], {"label": "int8"})
    assert (manifest.num_samples, manifest.shards) == (0, ())
    assert manifest.fields[0].dictionary.bytes == 72
    assert reference.read(tmp_path / "c") == []
    assert validate(tmp_path / "c") == []


def test_names_and_attributes_are_kept(tmp_path):
    attributes = {"z": 1, "a": {"ü": [None, True, 1.5, "x\n\x7f\u2028"]}, "big": 2**63 - 1}
    manifest = reference.write(
        tmp_path / "Cache-1", {"X": Bytes(), "a": Bytes()}, [], attributes=attributes, fingerprint="fp"
    )
    assert Manifest.load(tmp_path / "Cache-1") == manifest
    assert (manifest.name, manifest.fingerprint, manifest.attributes) == ("Cache-1", "fp", attributes)
    assert [field.name for field in manifest.fields] == ["X", "a"]


arrays = st.integers(0, 2**32 - 1)


@st.composite
def caches(draw):
    """Fields, columns and samples of any kind."""
    dtypes = st.sampled_from([name for name in ITEMSIZE if name[:2] != "bf" and name[:6] != "float8"])
    codecs = st.sampled_from(CODECS)
    fields, values = {}, {}
    for i in range(draw(st.integers(1, 4))):
        name, kind = f"f{i}", draw(st.sampled_from(["dense", "ragged", "bytes", "text"]))
        dtype, codec = draw(dtypes), draw(codecs)
        delta = draw(st.sampled_from([0, 0, 1, 3])) if dtype == "uint8" and codec != "raw" else 0
        if kind == "dense":
            shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
            fields[name] = Dense(dtype, shape, codec=codec, delta=delta)
            values[name] = arrays.map(lambda seed, d=dtype, s=shape: bits(d, s, seed))
        elif kind == "ragged":
            ndim = draw(st.integers(1, 3))
            fields[name] = Ragged(dtype, ndim, codec=codec, delta=delta)
            shapes = st.tuples(*[st.integers(0, 4)] * ndim)
            values[name] = st.builds(lambda seed, s, d=dtype: bits(d, s, seed), arrays, shapes)
        else:
            fields[name] = Bytes(codec=codec) if kind == "bytes" else Text(codec=codec)
            values[name] = st.binary(max_size=30) if kind == "bytes" else st.text(max_size=12)
    columns = {}
    for i in range(draw(st.integers(0, 3))):
        columns[f"m{i}"] = word = draw(st.sampled_from(COLUMN_TYPES))
        values[f"m{i}"] = st.none() | column_values(word)
    samples = draw(st.lists(st.fixed_dictionaries(values), max_size=6))
    return fields, columns, samples, draw(st.integers(1, 4))


def column_values(word):
    if word == "bool":
        return st.booleans()
    if word == "string":
        return st.text(max_size=20)
    if word == "binary":
        return st.binary(max_size=20)
    if word == "float32":
        return st.floats(width=32)
    if word == "float64":
        return st.floats()
    if word in NUMBERS:
        return st.integers(int(np.iinfo(word).min), int(np.iinfo(word).max))
    if word == "date":
        return st.integers(-(2**31), 2**31 - 1).map(lambda n: np.datetime64(n, "D"))
    unit = word.partition("[")[2][:2]
    scalar = np.datetime64 if word.startswith("timestamp") else np.timedelta64
    return st.integers(1 - 2**63, 2**63 - 1).map(lambda n: scalar(n, unit))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(caches())
def test_whatever_is_written_comes_back(tmp_path, cache):
    fields, columns, samples, samples_per_shard = cache
    path = tmp_path / "c"
    shutil.rmtree(path, ignore_errors=True)
    manifest = reference.write(path, fields, samples, columns, samples_per_shard=samples_per_shard)
    assert_same(reference.read(path), samples)
    assert validate(path) == []
    assert manifest.num_samples == len(samples)
    # The same again gives the same bytes.
    other = tmp_path / "d" / "c"
    shutil.rmtree(tmp_path / "d", ignore_errors=True)
    (tmp_path / "d").mkdir()
    assert reference.write(other, fields, samples, columns, samples_per_shard=samples_per_shard) == manifest
    assert_same_files(path, other)


GOOD = {"x": np.zeros((2, 3), np.float32), "r": np.zeros(3, np.int16), "b": b"", "t": "", "m": 1, "s": "x"}
FIELDS = {"x": Dense("float32", (2, 3)), "r": Ragged("int16"), "b": Bytes(), "t": Text()}
COLUMNS = {"m": "int8", "s": "string"}

BAD_VALUES = [
    ("x", np.zeros((2, 3)), r"expected the dtype float32, found float64; call \.astype\('float32'\)"),
    ("x", np.zeros((3, 2), np.float32), r"expected the shape \(2, 3\), found \(3, 2\)"),
    ("x", np.zeros(6, np.float32), r"shape"),
    (
        "x",
        np.zeros((2, 3), ">f4"),
        r"native byte order, found '>f4'; call .*newbyteorder",
    ),
    ("x", np.ma.zeros((2, 3), np.float32), r"masked array .* call \.filled"),
    ("x", np.zeros((2, 3), object), r"Python objects"),
    ("x", [[0.0] * 3] * 2, r"found list; call numpy\.asarray\(value, 'float32'\)"),
    ("x", None, r"found NoneType"),
    ("x", 1.0, r"found float"),
    ("r", np.zeros((1, 3), np.int16), r"expected 1 axes, found the shape \(1, 3\)"),
    ("r", np.zeros(3, np.uint16), r"expected the dtype int16, found uint16"),
    ("r", "abc", r"found str"),
    ("b", "abc", r"expected bytes, found str"),
    ("b", np.zeros(3, np.int8), r"expected bytes, found ndarray; .* call \.encode\(\) .* \.tobytes\(\)"),
    ("t", b"abc", r"expected str, found bytes"),
    ("t", "a\ud800", r"lone surrogate at 1"),
    ("m", 128, r"128 is outside -128 to 127"),
    ("m", 1.0, r"expected int8 or None, found 1\.0"),
    ("m", True, r"expected int8"),
    ("s", b"x", r"expected string"),
    ("s", "\udfff", r"lone surrogate at 0"),
]


@pytest.mark.parametrize(("name", "value", "words"), BAD_VALUES)
def test_a_value_that_does_not_fit_is_refused_and_leaves_nothing(tmp_path, name, value, words):
    with pytest.raises(SchemaError, match=words) as caught:
        reference.write(tmp_path / "c", FIELDS, [GOOD, {**GOOD, name: value}], COLUMNS)
    assert "sample 1" in str(caught.value)
    assert repr(name) in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_bool_is_a_byte_0_or_1(tmp_path):
    array = np.array([0, 2], np.uint8).view(bool)
    with pytest.raises(SchemaError, match=r"sample 0, field 'x': .* other than 0 and 1"):
        reference.write(tmp_path / "c", {"x": Dense("bool", (2,))}, [{"x": array}])


def test_missing_and_unknown_names_are_refused(tmp_path):
    for sample, words in [
        ({k: v for k, v in GOOD.items() if k != "r"}, "sample 0: the field 'r' is missing"),
        ({k: v for k, v in GOOD.items() if k != "m"}, "sample 0: the metadata column 'm' is missing"),
        ({**GOOD, "y": 1}, "sample 0: 'y' is neither"),
    ]:
        with pytest.raises(SchemaError, match=words):
            reference.write(tmp_path / "c", FIELDS, [sample], COLUMNS)
    with pytest.raises(TypeError, match="sample 0: expected a mapping"):
        reference.write(tmp_path / "c", FIELDS, [[1]], COLUMNS)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"fields": {}}, SchemaError),
        ({"fields": {"weight": Text()}}, SchemaError),
        ({"fields": {"_x": Text()}}, SchemaError),
        ({"fields": {"a": Text(), "A": Text()}}, SchemaError),
        ({"fields": {f"f{i}": Text() for i in range(257)}}, SchemaError),
        ({"fields": {"a": "uint8"}}, TypeError),
        ({"fields": [Text()]}, TypeError),
        ({"metadata": ["m"]}, TypeError),
        ({"attributes": [1]}, TypeError),
        ({"attributes": ""}, TypeError),
        ({"fields": {"t": Text(codec=Zstd(dictionary=bytes.fromhex("37a430ec") + bytes(9)))}}, SchemaError),
        ({"metadata": {"t": "int8"}}, SchemaError),
        ({"metadata": {"cache_id": "int64"}}, SchemaError),
        ({"metadata": {"m": "decimal"}}, SchemaError),
        ({"metadata": {"m": np.int8}}, TypeError),
        ({"metadata": {"weight": "float32"}}, SchemaError),
        ({"attributes": {"a": float("nan")}}, SchemaError),
        ({"attributes": {"a": 2**63}}, SchemaError),
        ({"attributes": {"a": (1, 2)}}, SchemaError),
        ({"attributes": {1: 2}}, SchemaError),
        ({"attributes": {"a": b""}}, SchemaError),
        ({"attributes": {"a": "\ud800"}}, SchemaError),
        ({"fingerprint": "\ud800"}, SchemaError),
        ({"fingerprint": 1}, TypeError),
        ({"samples_per_shard": 0}, ValueError),
        ({"samples_per_shard": 2**20 + 1}, ValueError),
        ({"shard_bytes": 0}, ValueError),
    ],
)
def test_what_cannot_be_a_cache_is_refused_and_leaves_nothing(tmp_path, changes, error):
    arguments = {"fields": {"t": Text()}, "samples": [], **changes}
    with pytest.raises(error):
        reference.write(tmp_path / "c", **arguments)
    assert os.listdir(tmp_path) == []


def test_an_illegal_name_of_the_target_is_refused(tmp_path):
    for name in "a.b", "con", "ü", "x" * 64:
        with pytest.raises(SchemaError, match="cannot have the name"):
            reference.write(tmp_path / name, {"t": Text()}, [])


def test_attributes_that_are_changed_while_samples_are_drawn_stay_as_they_were_checked(tmp_path):
    attributes = {"a": [1], "b": {}}

    def samples():
        attributes["a"].append(float("nan"))
        attributes["b"][7] = b""
        yield {"t": ""}

    manifest = reference.write(tmp_path / "c", {"t": Text()}, samples(), attributes=attributes)
    assert manifest.attributes == {"a": [1], "b": {}}
    assert Manifest.load(tmp_path / "c") == manifest


def nested(levels):
    return {"a": nested(levels - 1)} if levels > 1 else {}


def test_attributes_nest_as_deep_as_a_manifest_does(tmp_path):
    reference.write(tmp_path / "a", {"t": Text()}, [], attributes=nested(63))
    assert Manifest.load(tmp_path / "a").attributes == nested(63)
    with pytest.raises(SchemaError, match="deeper than 64"):
        reference.write(tmp_path / "b", {"t": Text()}, [], attributes=nested(64))


def test_a_target_that_exists_is_refused_and_untouched(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for name in "file", "folder", "link":
        with pytest.raises(CacheExistsError, match="exists; delete it first"):
            reference.write(tmp_path / name, {"t": Text()}, [])
    assert (tmp_path / "file").read_text() == "x"
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "link"]


def test_a_target_that_appears_meanwhile_is_refused_and_untouched(tmp_path):
    def samples():
        yield {"t": ""}
        (tmp_path / "c").mkdir()
        (tmp_path / "c" / "file").write_text("x")

    with pytest.raises(CacheExistsError):
        reference.write(tmp_path / "c", {"t": Text()}, samples())
    assert os.listdir(tmp_path) == ["c"]
    assert os.listdir(tmp_path / "c") == ["file"]


def test_an_exception_of_the_source_travels_up_and_leaves_nothing(tmp_path):
    def samples():
        yield {"t": "", "m": 1}
        raise KeyError("the source is broken")

    with pytest.raises(KeyError, match="the source is broken"):
        reference.write(tmp_path / "c", {"t": Text()}, samples(), {"m": "int8"}, samples_per_shard=1)
    assert os.listdir(tmp_path) == []


def test_writers_of_one_target_build_in_directories_of_their_own(tmp_path):
    def samples():
        assert len(os.listdir(tmp_path)) == 1
        with pytest.raises(KeyError):
            reference.write(tmp_path / "c", {"t": Text()}, inner())
        yield {"t": ""}

    def inner():
        names = os.listdir(tmp_path)
        assert [(name[:3], name[-9:]) for name in names] == [(".c.", ".building")] * 2
        raise KeyError
        yield {}

    reference.write(tmp_path / "c", {"t": Text()}, samples())
    assert os.listdir(tmp_path) == ["c"]


def test_what_is_no_cache_is_not_published(tmp_path):
    for path in tmp_path, tmp_path / "none":
        with pytest.raises(NotPublishedError):
            reference.read(path)


def test_a_file_that_is_short_at_open_is_a_format_error_and_not_a_data_error(tmp_path, vectors):
    path = shutil.copytree(vectors / "example" / "demo", tmp_path / "c")
    os.truncate(path / "fields" / "jpeg" / "00001.shard", 119)
    with pytest.raises(FormatError, match=r"R030: .*119 bytes, the manifest says 120") as caught:
        reference.read(path)
    assert not isinstance(caught.value, DataError)
    assert (caught.value.field, caught.value.shard, caught.value.cache) == ("jpeg", 1, str(path))


def test_a_number_of_samples_is_not_believed_before_their_records_are_read(tmp_path):
    reference.write(tmp_path / "c", {"x": Dense("uint8", (0,))}, [{"x": np.zeros(0, np.uint8)}])
    manifest = Manifest.load(tmp_path / "c")
    shard = replace(manifest.fields[0].files[0], bytes=64 + 4 * 2**20)
    manifest = replace(
        manifest,
        num_samples=2**20,
        shards=(2**20,),
        fields=(replace(manifest.fields[0], files=(shard,)),),
    ).sealed()
    (tmp_path / "c" / "manifest.json").write_bytes(manifest.to_bytes())
    os.truncate(tmp_path / "c" / "fields" / "x" / "00000.shard", shard.bytes)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="R031"):
            reference.read(tmp_path / "c")
        assert tracemalloc.get_traced_memory()[1] < 4 * shard.bytes
    finally:
        tracemalloc.stop()


def test_reading_without_ml_dtypes_names_the_package(tmp_path, monkeypatch):
    reference.write(tmp_path / "c", {"x": Dense("bfloat16")}, [{"x": bits("bfloat16", ())}])
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match="ml_dtypes"):
        reference.read(tmp_path / "c")
    assert validate(tmp_path / "c") == []
