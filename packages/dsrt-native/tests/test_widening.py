"""Elements delivered as a wider type: which pairs there are, and what becomes of each value."""

import pickle
import re
import warnings

import ml_dtypes
import numpy as np
import pytest

from dsrt_format import Dense, Ragged, SchemaError, Text, reference
from dsrt_format.dtypes import ITEMSIZE
from dsrt_native import Cache, Loader, Population, RaggedArray

DTYPES = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in ITEMSIZE}
INTEGERS = [name for name in DTYPES if "int" in name]
COMPLEX = ["complex64", "complex128"]


def elements(name):
    """Every element of a type of 8 or 16 bits, and many of one with more: those at edges, and at random."""
    dtype = DTYPES[name]
    if name == "bool":
        return np.array([False, True])
    if dtype.itemsize <= 2:
        return np.arange(256**dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)
    random = np.frombuffer(np.random.default_rng(5).bytes(16_000 * dtype.itemsize), dtype)
    if name in INTEGERS:
        powers = [sign * 2**bit + near for bit in range(65) for near in (-1, 0, 1) for sign in (-1, 1)]
        bounds = np.iinfo(dtype)
        edges = np.array([power for power in powers if bounds.min <= power <= bounds.max], dtype)
    else:
        real = np.dtype(f"f{dtype.itemsize // (2 if name in COMPLEX else 1)}")
        info = np.finfo(real)
        ones = [0.0, 1.0, info.max, info.tiny, info.smallest_subnormal, info.eps, np.inf, np.nan]
        mixed = np.array([*ones, 1 + info.eps, info.tiny - info.smallest_subnormal, 3.14], real)
        edges = np.concatenate([mixed, -mixed])
        edges = edges.view(dtype) if name in COMPLEX else edges
    return np.concatenate([edges, random])


def values(array):
    """The values as Python compares them, which it does exactly."""
    if array.dtype.name in [*INTEGERS, "bool"]:
        return array.tolist()
    return converted(array, "complex128" if array.dtype.kind == "c" else "float64").tolist()


def converted(array, name):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return array.astype(DTYPES[name])


def loses_nothing(stored, name):
    """Whether NumPy and ml_dtypes find every value in the other type, as a number of its sort."""
    if (stored in COMPLEX) != (name in COMPLEX) or (stored == "bool" and name not in [*INTEGERS, "bool"]):
        return False
    before = elements(stored)
    after = converted(before, name)
    same = all(a == b or (a != a and b != b) for a, b in zip(values(before), values(after), strict=True))
    if stored in [*INTEGERS, "bool"] or name in COMPLEX:
        return same
    return same and name not in [*INTEGERS, "bool"]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Fields of every type: all elements in sample 0, in sample 1 of ragged ones none, then half of them."""
    path = tmp_path_factory.mktemp("caches") / "everything"
    all_of = {name: elements(name) for name in DTYPES}
    fields = {f"d-{name}": Dense(name, (len(all_of[name]),)) for name in DTYPES}
    fields |= {f"c-{name}": Dense(name, (len(all_of[name]),), codec="zstd") for name in DTYPES}
    fields |= {f"r-{name}": Ragged(name) for name in DTYPES}
    samples = []
    for sample in range(3):
        dense = {name: all_of[name][:: 1 if sample == 0 else -1].copy() for name in DTYPES}
        ragged = {
            name: dense[name][: (len(dense[name]), 0, len(dense[name]) // 2)[sample]] for name in DTYPES
        }
        samples.append(
            {f"{kind}-{name}": dense[name] for name in DTYPES for kind in "dc"}
            | {f"r-{name}": ragged[name] for name in DTYPES}
        )
    reference.write(path, fields, samples, samples_per_shard=2)
    return path, samples


def test_exactly_the_pairs_that_lose_nothing_are_delivered(everything):
    population = Cache.open(everything[0]).population
    for stored in DTYPES:
        possible = [name for name in DTYPES if loses_nothing(stored, name)]
        for name in DTYPES:
            if name in possible:
                population.gather([0], {f"d-{stored}": name, f"r-{stored}": name})
                continue
            for kind in "dcr":
                with pytest.raises(SchemaError) as caught:
                    population.gather([0], {f"{kind}-{stored}": name})
                message = str(caught.value)
                assert (
                    f"field {kind}-{stored}: fields= asks for {name}, and the values are {stored}" in message
                )
                listed = message.partition("which is ")[2].partition(";")[0].split(", ")
                assert sorted(listed) == sorted(possible), message


@pytest.mark.parametrize(("io", "verify"), [("mmap", True), ("mmap", False), ("pread", True)])
def test_every_value_is_what_numpy_makes_of_it(everything, io, verify):
    path, samples = everything
    population = Cache.open(path, io=io, verify=verify).population
    order = [2, 0, 1, 0]
    for stored, name in [(a, b) for a in DTYPES for b in DTYPES if loses_nothing(a, b)]:
        batch = population.gather(order, {f"{kind}-{stored}": name for kind in "dcr"})
        for kind in "dcr":
            found = batch[f"{kind}-{stored}"]
            expected = [converted(samples[row][f"{kind}-{stored}"], name) for row in order]
            if kind == "r":
                assert found.lengths().tolist() == [len(record) for record in expected]
                found = found.values
            expected = np.concatenate(expected)
            assert found.dtype == DTYPES[name]
            assert found.flags.writeable
            whole = [parts(array.reshape(-1)) for array in (found, expected)]
            assert [array.tobytes() for array in whole[0]] == [array.tobytes() for array in whole[1]], (
                stored,
                name,
            )


def parts(array):
    """Everything of elements that must be equal: their bits, or where they are NaN, and of which sign."""
    if array.dtype.kind == "c":
        array = array.view(f"f{array.dtype.itemsize // 2}")
    if array.dtype.name in [*INTEGERS, "bool"]:
        return [array]
    with np.errstate(invalid="ignore"):
        nan = np.isnan(array)
    return [nan, np.signbit(array), np.where(nan, np.zeros_like(array), array)]


@pytest.fixture
def tokens(write_cache):
    fields = {"tokens": Ragged("uint16"), "label": Dense("uint8"), "caption": Text()}
    rows = [
        {"tokens": np.arange(65530, 65530 + i % 6, dtype=np.uint16), "label": np.uint8(i), "caption": f"{i}"}
        | {"score": i / 4, "kind": -i, "day": np.datetime64("1969-12-30") + i, "name": "n"}
        for i in range(8)
    ]
    metadata = {"score": "float32", "kind": "int8", "day": "date", "name": "string"}
    return write_cache(fields=fields, samples=rows, metadata=metadata)


WANTED = {"tokens": "int64", "label": None, "kind": "float16", "score": "float64", "name": None}


def test_a_mapping_says_names_and_dtypes(tokens, same):
    cache = Cache.open(tokens)
    narrow = cache.population.gather([5, 1], list(WANTED))
    wide = cache.population.gather([5, 1], WANTED)
    same(
        wide,
        narrow
        | {
            "tokens": RaggedArray(narrow["tokens"].values.astype(np.int64), narrow["tokens"].offsets),
            "kind": narrow["kind"].astype(np.float16),
            "score": narrow["score"].astype(np.float64),
        },
    )
    assert narrow["tokens"].values.dtype == np.uint16
    assert [column.dtype.name for column in (wide["label"], wide["kind"])] == ["uint8", "float16"]
    same(cache.population.gather([5, 1], dict.fromkeys(narrow)), narrow)
    assert cache.population.gather([], WANTED)["tokens"].values.dtype == np.int64


def test_a_cache_opened_with_dtypes_delivers_them_and_is_pickled_with_them(tokens, same):
    for cache in (opened := Cache.open(tokens, fields=WANTED), pickle.loads(pickle.dumps(opened))):
        assert list(cache[3]) == list(WANTED)
        assert cache[5]["tokens"].dtype == np.int64
        assert cache[5]["tokens"].tolist() == list(range(65530, 65535))
        assert cache[3]["kind"] == -3.0
        assert isinstance(cache[3]["kind"], float)
        same(cache[2:6], opened.population.gather(range(2, 6), WANTED))
        assert cache.fields["tokens"].dtype == "uint16"
        assert cache.fields["tokens"][5].dtype == np.uint16
    with pytest.raises(SchemaError, match=r"field label: .*int8"):
        Cache.open(tokens, fields={"label": "int8"})


def test_extra_columns_are_widened_and_built_ins_are_what_they_are(tokens):
    columns = {"half": np.arange(8, dtype=np.int16), "flag": np.arange(8) % 2 == 0}
    population = Population([Cache.open(tokens)], columns=columns)
    batch = population.gather([7, 0], {"half": "float32", "flag": "uint8", "_row": "int64", "_valid": "bool"})
    assert {name: (column.dtype.name, column.tolist()) for name, column in batch.items()} == {
        "half": ("float32", [7.0, 0.0]),
        "flag": ("uint8", [0, 1]),
        "_row": ("int64", [7, 0]),
        "_valid": ("bool", [True, True]),
    }
    for name, dtype in [("_row", "float64"), ("_valid", "int64"), ("day", "int64"), ("caption", "uint8")]:
        with pytest.raises(SchemaError, match=re.escape(name)):
            population.gather([0], {name: dtype})


def test_a_loader_widens_and_its_state_stays_the_same(tokens, same):
    population = Cache.open(tokens).population
    narrow, wide = (Loader(population, 3, seed=2, fields=fields) for fields in (list(WANTED), WANTED))
    for before, after in zip(narrow, wide, strict=True):
        assert after["tokens"].values.dtype == np.int64
        same(after["tokens"].values, before["tokens"].values.astype(np.int64))
        same(after["kind"], before["kind"].astype(np.float16))
    assert narrow.state_dict() == wide.state_dict()
    assert wide.stats().bytes > narrow.stats().bytes


def test_damaged_records_are_zero_or_empty_in_the_wide_type_too(tokens):
    # The last token that the first shard has, of sample 5, and its last label, of sample 6.
    for name, at in (("tokens", 64 + 2 * 15 - 1), ("label", 64 + 6)):
        shard = tokens / "fields" / name / "00000.shard"
        data = bytearray(shard.read_bytes())
        data[at] ^= 1
        shard.write_bytes(data)
    population = Cache.open(tokens).population
    batch = population.gather([7, 6, 5, 4], {"tokens": "int32", "label": "float32"}, errors="mask")
    assert batch["_valid"].tolist() == [True, False, False, True]
    assert batch["label"].dtype == np.float32
    assert batch["label"].tolist() == [7.0, 0.0, 5.0, 4.0]
    assert batch["tokens"].values.dtype == np.int32
    assert batch["tokens"].lengths().tolist() == [1, 0, 0, 4]
    assert batch["tokens"].values.tolist() == [65530, *range(65530, 65534)]


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"label": "int65"}, SchemaError, "field label: .*'int65'|\"int65\".*no dtype.*uint64"),
        ({"label": np.int64}, TypeError, "dtype's name such as 'int64'"),
        ({3: "int64"}, TypeError, "expected names, found 3"),
        ({"label": "\ud800"}, SchemaError, "surrogate"),
        ({"nose": "int64"}, SchemaError, 'there is no "nose"'),
    ],
)
def test_what_is_no_mapping_of_names_to_dtypes_is_refused(tokens, fields, error, message):
    cache = Cache.open(tokens)
    for ask in (cache.population.gather, lambda _, fields: Loader(cache.population, 2, fields=fields)):
        with pytest.raises(error, match=message):
            ask([0], fields)
    with pytest.raises(TypeError, match="expected a dtype's name"):
        cache.population.gather([0], cache.fields)
