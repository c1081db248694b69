"""Population: rows, weights and extra columns over caches."""

import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

from dsrt_format import DataError, Dense, SchemaError
from dsrt_native import Cache, HasPopulation, Population

FIELDS = {"x": Dense("int64"), "y": Dense("int16", (2,), codec="zstd")}


def some(first, count, **columns):
    return [
        {"x": np.int64(first + i), "y": np.array([i, -i], np.int16)}
        | {name: c[i] for name, c in columns.items()}
        for i in range(count)
    ]


@pytest.fixture
def caches(write_cache):
    """Samples x = 0..9 and 100..104, with a column each, and weights stored in the first one."""
    a = write_cache(
        "a",
        fields=FIELDS,
        samples=some(0, 10, weight=[0.5 * i for i in range(10)], s=[f"s{i}" for i in range(10)]),
        metadata={"weight": "float64", "s": "string"},
    )
    b = write_cache(
        "b", fields=FIELDS, samples=some(100, 5, s=["t", None, "u", "", "v"]), metadata={"s": "string"}
    )
    return [Cache.open(a), Cache.open(b)]


def test_all_rows_are_the_concatenation_of_the_caches(caches):
    population = Population(caches)
    assert len(population) == 15
    assert population[:]["x"].tolist() == [*range(10), *range(100, 105)]
    assert population[12]["x"] == 102
    assert population[-1]["s"] == "v"
    assert population.population is population
    assert isinstance(population, HasPopulation)
    assert population.caches == tuple(caches)


def test_rows_choose_reorder_and_repeat(caches):
    population = Population(caches, rows=[14, 0, 0, 10])
    assert len(population) == 4
    assert population.gather([3, 2, 1, 0], ["x"])["x"].tolist() == [100, 0, 0, 104]
    cache_id, sample_id = population.ids(slice(None))
    assert cache_id.dtype == sample_id.dtype == np.int64
    assert sample_id.tolist() == [4, 0, 0, 0]
    assert cache_id.tolist() == [caches[i].cache_id for i in (1, 0, 0, 1)]
    assert len(Population(caches, rows=[])) == 0
    assert Population(caches, rows=[])[:]["y"].shape == (0, 2)


def test_a_row_that_is_none_is_refused_and_named(caches):
    with pytest.raises(IndexError, match=r"row 2\b.*15"):
        Population(caches, rows=[0, 1, 15])
    with pytest.raises(IndexError, match=r"row 1\b.*-1"):
        Population(caches, rows=[0, -1])
    for wrong in ([True, False], [0.5], "all", np.ones(15, bool)):
        with pytest.raises(TypeError):
            Population(caches, rows=wrong)
    population = Population(caches, rows=[1, 2])
    for wrong in ([2], [-3]):
        with pytest.raises(IndexError, match="out of range: there are 2"):
            population.gather(wrong)
    with pytest.raises(TypeError, match="list of caches"):
        Population(caches[0])
    with pytest.raises(TypeError, match=r"Cache\.open"):
        Population(["a"])


def test_weights_are_the_stored_ones_the_given_ones_or_none(caches):
    stored = Population(caches[:1])
    assert stored.weights.tolist() == [0.5 * i for i in range(10)]
    assert not stored.weights.flags.writeable
    assert Population(caches[:1], rows=[3, 3, 1]).weights.tolist() == [1.5, 1.5, 0.5]
    assert Population(caches[1:]).weights is None
    given = Population(caches, weights=np.arange(15, dtype=np.int8))
    assert given.weights.tolist() == [*range(15)]
    assert given.weights.dtype == np.float64
    assert stored.with_weights(None).weights is None
    assert stored.with_weights([1] * 10).weights.tolist() == [1] * 10
    assert stored.with_weights(None).rows_digest == stored.rows_digest


def test_weights_of_some_caches_only_are_an_error_that_names_them(caches):
    population = Population(caches)
    with pytest.raises(SchemaError, match=r"\bb\b"):
        population.weights
    assert population.with_weights(None).weights is None


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, -np.inf])
def test_a_bad_weight_is_refused_and_its_row_named(caches, bad):
    weights = np.ones(15)
    weights[7] = bad
    for make in (
        lambda: Population(caches, weights=weights),
        lambda: Population(caches).with_weights(weights),
    ):
        with pytest.raises(ValueError, match=r"row 7\b"):
            make()
    with pytest.raises(ValueError, match="14"):
        Population(caches, weights=np.ones(14))
    for wrong in (["1"] * 15, np.ones((15, 1)), np.ma.ones(15), [True] * 15):
        with pytest.raises(TypeError, match="weights"):
            Population(caches, weights=wrong)


def test_extra_columns_are_delivered_beside_the_fields(caches):
    columns = {
        "f": np.array([0.5, np.nan], np.float32),
        "i": np.array([-1, 7], np.int8),
        "big": np.array([2**64 - 1, 0], np.uint64),
        "b": np.array([True, False]),
        "d": np.array(["2024-02-29", "1900-01-01"], "M8[D]"),
        "t": np.array([1, -1], "M8[ns]"),
        "dt": np.array([5, 0], "m8[ms]"),
        "u": np.array(["größe", ""]),
        "n": ["a", None],
        "raw": [b"\0a\0", b""],
    }
    population = Population(caches, rows=[14, 3], columns=columns)
    batch = population[:]
    assert list(batch) == ["x", "y", "s", *columns]
    for name, values in columns.items():
        if name in ("u", "n", "raw"):
            assert batch[name] == list(values)
        else:
            assert batch[name].dtype == values.dtype
            np.testing.assert_equal(batch[name], values)
    assert population.gather([1, 0, 1], ["i"])["i"].tolist() == [7, -1, 7]
    assert population[1]["n"] is None
    assert population[0]["i"] == -1
    assert type(population[0]["i"]) is int


def test_extra_columns_come_from_arrow_too(caches):
    rows = [14, 3, 0]
    table = pa.table(
        {
            "s32": ["a", None, "b"],
            "large": pa.array(["c", "d", ""], pa.large_string()),
            "view": pa.array(["x" * 40, None, "y"], pa.string_view()),
            "raw": pa.array([b"\0", b"", None], pa.binary()),
            "n": pa.array([1, 2, 3], pa.int16()),
            "b": pa.array([True, False, True]),
            "t": pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
        }
    )
    chunked = pa.concat_tables([table[:1], table[1:]])
    for columns in (table, chunked, {name: table[name] for name in table.column_names}):
        batch = Population(caches, rows=rows, columns=columns)[:]
        assert batch["s32"] == ["a", None, "b"]
        assert batch["large"] == ["c", "d", ""]
        assert batch["view"] == ["x" * 40, None, "y"]
        assert batch["raw"] == [b"\0", b"", None]
        assert batch["n"].tolist() == [1, 2, 3]
        assert batch["b"].tolist() == [True, False, True]
        assert batch["t"].tolist() == np.array([1, 2, 3], "M8[us]").tolist()
    single = Population(caches, rows=rows, columns={"n": pa.array([4, 5, 6], pa.uint8())})
    assert single[:]["n"].tolist() == [4, 5, 6]


def test_a_null_number_in_an_extra_column_is_an_error_that_says_what_to_do(caches):
    population = Population(caches, rows=[0, 1, 2], columns={"n": pa.array([1, None, 3])})
    assert population[1]["n"] is None
    assert population.gather([0, 2], ["n"])["n"].tolist() == [1, 3]
    with pytest.raises(ValueError, match=r"\bn\b.*fill_null"):
        population.gather([0, 1], ["n"])
    assert population.gather([0, 1], ["x"])["x"].tolist() == [0, 1]


def test_a_column_that_cannot_be_is_refused(caches):
    two = [14, 3]

    def refused(error, match, columns):
        with pytest.raises(error, match=match):
            Population(caches, rows=two, columns=columns)

    refused(SchemaError, r"\bc\b.*3.*2|\bc\b.*2.*3", {"c": np.arange(3)})
    refused(SchemaError, r"\bx\b", {"x": np.arange(2)})
    refused(SchemaError, r"\bs\b", {"s": np.arange(2)})
    refused(SchemaError, "_row", {"_row": np.arange(2)})
    refused(SchemaError, "cache_id", {"cache_id": np.arange(2)})
    refused(SchemaError, "float16", {"c": np.arange(2, dtype=np.float16)})
    refused(SchemaError, "complex128", {"c": np.arange(2) + 1j})
    refused(SchemaError, r"astype\('<i4'\)", {"c": np.arange(2, dtype=">i4")})
    refused(SchemaError, "masked", {"c": np.ma.arange(2)})
    refused(SchemaError, "one axis", {"c": np.zeros((2, 1))})
    refused(SchemaError, r"datetime64\[s\]", {"c": np.zeros(2, "M8[s]")})
    refused(SchemaError, "only str and None", {"c": ["a", 1]})
    refused(TypeError, "mapping of names", [np.arange(2)])
    refused(SchemaError, "(?i)decimal", {"c": pa.array([1, 2], pa.decimal128(3))})
    refused(SchemaError, "(?i)list", {"c": pa.array([[1], [2]])})
    refused(SchemaError, "(?i)dictionary|categor", {"c": pa.array(["a", "b"]).dictionary_encode()})


def test_built_in_columns(caches):
    population = Population(caches, rows=[14, 2], weights=[0.25, 3])
    names = ["_row", "_position", "_valid", "_seed", "cache_id", "sample_id", "weight"]
    batch = population.gather([1, 0, 1], names)
    assert list(batch) == names
    assert batch["_row"].tolist() == batch["_position"].tolist() == [1, 0, 1]
    assert batch["_valid"].tolist() == [True] * 3
    assert batch["sample_id"].tolist() == [2, 4, 2]
    assert batch["weight"].tolist() == [3, 0.25, 3]
    dtypes = [str(batch[name].dtype) for name in names]
    assert dtypes == ["int64", "int64", "bool", "uint64", "int64", "int64", "float64"]
    with pytest.raises(ValueError, match="weight"):
        population.with_weights(None).gather([0], ["weight"])


def test_an_unknown_name_is_refused_and_what_there_is_listed(caches):
    with pytest.raises(SchemaError, match=r"(?s)nose.*\bx\b.*\by\b.*\bs\b"):
        Population(caches).gather([0], ["x", "nose"])
    with pytest.raises(TypeError, match="expected a list of names"):
        Population(caches).gather([0], "x")


def test_fields_are_those_that_every_cache_has(caches, write_cache):
    assert list(Population(caches).fields) == ["x", "y"]
    y = Population(caches).fields["y"]
    assert (y.kind, y.dtype, y.shape, y.codec) == ("dense", "int16", (2,), "zstd")
    only_x = Cache.open(
        write_cache("c", fields={"x": Dense("int64")}, samples=[{"x": np.int64(1)}], metadata=None)
    )
    mixed = Population([caches[0], only_x])
    assert list(mixed.fields) == ["x"]
    assert list(mixed[:]) == ["x"]


def test_fields_that_differ_between_caches_and_one_cache_twice_are_refused(caches, write_cache):
    other = Cache.open(
        write_cache("c", fields={"x": Dense("int32")}, samples=[{"x": np.int32(1)}], metadata=None)
    )
    with pytest.raises(SchemaError, match=r"(?s)\bx\b.*int32|\bx\b.*int64"):
        Population([caches[0], other]).gather([0], ["x"])
    with pytest.raises((SchemaError, ValueError), match=r"R072"):
        Population([caches[0], Cache.open(caches[0].path)])


def test_damage_is_masked_when_it_is_to(write_cache):
    path = write_cache("d", fields=FIELDS, samples=some(0, 10), metadata=None, samples_per_shard=10)
    (file := path / "fields/x/00000.shard").chmod(0o644)
    data = bytearray(file.read_bytes())
    data[64 + 8 * 3] ^= 1
    file.write_bytes(data)
    population = Population([Cache.open(path)])
    with pytest.raises(DataError) as found:
        population.gather([2, 3])
    assert (found.value.field, found.value.sample) == ("x", 3)
    batch = population.gather([2, 3, 4], errors="mask")
    assert batch["x"].tolist() == [2, 0, 4]
    assert batch["y"].tolist() == [[2, -2], [3, -3], [4, -4]]
    assert batch["_valid"].tolist() == [True, False, True]
    with pytest.raises(ValueError, match="errors='skip'"):
        population.gather([0], errors="skip")


def test_digests_tell_populations_apart(caches):
    whole = Population(caches)
    assert len(whole.rows_digest) == 64
    assert Population(caches, rows=range(15)).rows_digest == whole.rows_digest
    assert Population(caches, rows=range(14)).rows_digest != whole.rows_digest
    assert Population(caches[::-1]).rows_digest != whole.rows_digest
    assert whole.with_weights(None).weights_digest is None
    ones = whole.with_weights(np.ones(15))
    assert ones.weights_digest == Population(caches, weights=np.ones(15)).weights_digest
    assert ones.weights_digest != whole.with_weights(np.full(15, 2.0)).weights_digest


def test_a_population_from_an_arrow_table(caches):
    ids = [cache.cache_id for cache in caches]
    table = pa.table(
        {
            "cache_id": [ids[1], ids[0], ids[0]],
            "sample_id": [4, 9, 9],
            "weight": [0.0, 1.5, 1e300],
            "group": ["a", None, "b"],
        }
    )
    population = Population.from_arrow(caches, table)
    assert population[:]["x"].tolist() == [104, 9, 9]
    assert population[:]["group"] == ["a", None, "b"]
    assert population.weights.tolist() == [0.0, 1.5, 1e300]
    assert population.rows_digest == Population(caches, rows=[14, 9, 9]).rows_digest
    unweighted = table.set_column(2, "weight", pa.nulls(3, pa.float64()))
    assert Population.from_arrow(caches, unweighted).weights is None
    assert Population.from_arrow(caches, table.to_batches()[0])[0]["x"] == 104


def test_a_table_that_does_not_fit_is_refused_and_the_row_named(caches):
    ids = [cache.cache_id for cache in caches]
    good = {"cache_id": [ids[0], ids[1]], "sample_id": [0, 0]}

    def refused(error, match, **changed):
        with pytest.raises(error, match=match):
            Population.from_arrow(caches, pa.table(good | changed))

    refused((ValueError, IndexError), r"row 1\b", cache_id=[ids[0], 5])
    refused((ValueError, IndexError), r"row 1\b", sample_id=[0, 5])
    refused((ValueError, IndexError), r"row 0\b", sample_id=[-1, 0])
    refused(SchemaError, "sample_id", sample_id=["0", "1"])
    refused(ValueError, r"row 1\b", weight=[1.0, -1.0])
    with pytest.raises(SchemaError, match="cache_id"):
        Population.from_arrow(caches, pa.table({"sample_id": [0]}))
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        Population.from_arrow(caches, {"cache_id": [1]})


def test_a_population_says_what_it_is(caches):
    assert (
        repr(Population(caches, rows=[1])) == f"<Population of 1 rows of {caches[0].path}, {caches[1].path}>"
    )


def test_a_gather_lets_other_python_threads_run(write_cache):
    samples = [{"x": np.zeros(2**20, np.uint8)}] * 2
    path = write_cache("big", fields={"x": Dense("uint8", (2**20,))}, samples=samples, metadata=None)
    population = Population([Cache.open(path)])
    rows = np.arange(2).repeat(64)
    lock, ran = threading.Lock(), []

    def wait():
        with lock:
            ran.append(True)

    lock.acquire()
    thread = threading.Thread(target=wait)
    thread.start()
    interval = sys.getswitchinterval()
    # From here on no thread is made to give up the GIL.
    sys.setswitchinterval(1000)
    try:
        lock.release()
        population.gather(rows)
        assert ran
    finally:
        sys.setswitchinterval(interval)
        thread.join()
