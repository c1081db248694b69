"""Extra columns of a population, from NumPy, lists and Arrow; populations from Arrow tables."""

import numpy as np
import pyarrow as pa
import pytest

from dsrt_format import SchemaError
from dsrt_native import Population


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
    for cut in (np.array([b"a\0", b"b"]), (b"a\0", b"b")):
        refused(SchemaError, r"column c: an array of \|S2, which cuts zeros at the end", {"c": cut})
    for cast in ([2**63, -1], [True, 2], (2**53 + 1, 0.5), [1.5, False]):
        refused(SchemaError, "column c: NumPy makes .* of this list of .*; give an array", {"c": cast})
    refused(TypeError, "mapping of names", [np.arange(2)])
    refused(SchemaError, "(?i)decimal", {"c": pa.array([1, 2], pa.decimal128(3))})
    refused(SchemaError, "(?i)list", {"c": pa.array([[1], [2]])})
    refused(SchemaError, "(?i)dictionary|categor", {"c": pa.array(["a", "b"]).dictionary_encode()})


@pytest.mark.parametrize("dtype", ["M8[D]", "M8[us]", "M8[ns]", "m8[ms]"])
def test_a_time_that_is_none_is_refused_and_null_in_arrow_data(caches, dtype):
    times = np.array([3, "NaT", "NaT"], dtype)
    with pytest.raises(SchemaError, match=r"column c: 2 values are NaT, the first in row 1; give Arrow data"):
        Population(caches, rows=[0, 1, 2], columns={"c": times})
    population = Population(caches, rows=[0, 1, 2], columns={"c": pa.array(times)})
    assert population[0]["c"] == times[0]
    assert population[1]["c"] is None


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


class _Exports:
    """A table as Polars makes it, which would abort the process when asked for such a name."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("must not be asked")


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"e\0f": [5]}),
        pa.record_batch({"e\0f": [5]}),
        pa.RecordBatchReader.from_batches(pa.schema([("e\0f", pa.int64())]), []),
        _Exports(columns=["e\0f"]),
        {"e": _Exports(name="e\0f")},
    ],
)
def test_a_name_that_arrow_cannot_carry_is_refused_before_it_is_cut(caches, table):
    with pytest.raises(SchemaError, match=r"'e\\x00f' holds U\+0000"):
        Population(caches, rows=[1], columns=table)
    if not isinstance(table, dict):
        with pytest.raises(SchemaError, match=r"'e\\x00f' holds U\+0000"):
            Population.from_arrow(caches, table)


@pytest.mark.parametrize("name", ["cache_id", "sample_id", "weight"])
def test_a_table_with_one_of_its_own_columns_twice_is_refused(caches, name):
    columns = {
        "cache_id": pa.array([caches[0].cache_id]),
        "sample_id": pa.array([3]),
        "weight": pa.array([1.0]),
    }
    table = pa.table([*columns.values(), columns[name]], names=[*columns, name])
    with pytest.raises(SchemaError, match=f"several columns called {name}"):
        Population.from_arrow(caches, table)


@pytest.mark.parametrize(
    "columns", [{"e": ["a", "\ud800"]}, {"e": np.array(["\ud800"] * 2)}, {"\ud800": np.zeros(2)}]
)
def test_lone_surrogates_in_extra_columns_are_refused(caches, columns):
    with pytest.raises(SchemaError, match="lone surrogate"):
        Population(caches, rows=[1, 2], columns=columns)


def test_the_name_of_an_extra_column_is_a_str(caches):
    with pytest.raises(TypeError, match="not 5"):
        Population(caches, rows=[1], columns={5: [1]})
