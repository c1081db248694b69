from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import ColumnNotFoundError
from polars.testing import assert_frame_equal

from dsrt_format import SchemaError
from dsrt_meta import Dataset

# What the cache of conftest.py holds.
LABELS = [int(digit) for digit in "201102001200"]
N = len(LABELS)


@pytest.fixture
def dataset(pets: Path) -> Dataset:
    return Dataset.open(pets)


def samples(dataset: Dataset) -> list[int]:
    return dataset.metadata["sample_id"].to_list()


predicates = st.sampled_from(
    [
        pl.col("label") == 1,
        pl.col("width") > 30,
        pl.col("width").is_null(),
        pl.col("species") != "dog",
        pl.col("species").str.len_bytes() > 3,
        pl.col("taken").dt.day() % 2 == 0,
        pl.len().over("label") > 3,
        pl.col("weight") > 0.3,
        pl.lit(True),
        pl.col("width").max() > 1,
        ~pl.any_horizontal(pl.exclude("weight").is_null()),
    ]
)
keys = st.lists(st.sampled_from(["label", "species", "width", "weight", "taken"]), min_size=1, unique=True)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_edits_in_any_order_equal_the_same_by_hand_in_polars(pets: Path, data: st.DataObject) -> None:
    dataset = Dataset.open(pets)
    by_hand = dataset.metadata
    for _ in range(data.draw(st.integers(1, 4))):
        n = len(by_hand)
        match data.draw(
            st.sampled_from(["filter", "select", "sort", "head", "weights", "columns", "unweighted"])
        ):
            case "filter":
                chosen = data.draw(st.lists(predicates, max_size=2))
                dataset = dataset.filter(*chosen)
                by_hand = by_hand.filter(*chosen) if chosen else by_hand
            case "select":
                rows = data.draw(st.lists(st.integers(0, n - 1), max_size=20)) if n else []
                dataset, by_hand = dataset.select_rows(rows), by_hand[rows]
            case "sort":
                by = data.draw(keys)
                down = data.draw(st.lists(st.booleans(), min_size=len(by), max_size=len(by)))
                dataset = dataset.sort(by, descending=down)
                by_hand = by_hand.sort(by, descending=down, maintain_order=True)
            case "head":
                count = data.draw(st.integers(0, 15))
                dataset, by_hand = dataset.head(count), by_hand.head(count)
            case "weights":
                dataset = dataset.with_weights(1 / pl.len().over("label"))
                by_hand = by_hand.with_columns(weight=1 / pl.len().over("label"))
            case "columns":
                extra = (pl.col("sample_id") * 2 + pl.len()).cast(pl.Int64).alias("extra")
                dataset, by_hand = dataset.with_columns(extra), by_hand.with_columns(extra)
            case "unweighted":
                dataset = dataset.with_weights(None)
                by_hand = by_hand.with_columns(weight=pl.lit(None, pl.Float64))
        assert_frame_equal(dataset.metadata, by_hand)
        assert len(dataset) == len(by_hand)


def test_filter_keeps_rows_where_all_is_true_and_nothing_is_null(dataset: Dataset) -> None:
    assert samples(dataset.filter(pl.col("width") >= 30)) == [3, 4, 6, 7, 8, 9, 10, 11]
    assert samples(dataset.filter(pl.col("label") == 0, pl.col("species") == "cat")) == [6, 10]
    assert samples(dataset.filter(pl.Series([True] + [False] * (N - 2) + [None]))) == [0]
    assert samples(dataset.filter()) == list(range(N))


def test_filter_leaves_the_old_dataset_as_it_was(dataset: Dataset) -> None:
    before = dataset.metadata
    dataset.filter(pl.col("label") == 1).with_weights(pl.lit(2.0))
    assert_frame_equal(dataset.metadata, before)
    assert dataset.population.weights is None


def test_what_is_changed_in_the_frame_is_not_changed_in_the_dataset(dataset: Dataset) -> None:
    before, kept = dataset.metadata, samples(dataset.filter(pl.col("label") == 1))
    frame = dataset.metadata
    frame[0, "label"] = 1
    frame[[1, 2], "width"] = 7
    frame.insert_column(0, pl.Series("mine", range(N)))
    frame.drop_in_place("species")
    frame.columns = [name.upper() for name in frame.columns]
    assert_frame_equal(dataset.metadata, before)
    assert samples(dataset.filter(pl.col("label") == 1)) == kept
    with pytest.raises(ColumnNotFoundError):
        dataset.filter(pl.col("mine") == 0)


def test_filter_names_the_columns_there_are_when_one_is_not(dataset: Dataset) -> None:
    with pytest.raises(ColumnNotFoundError, match=r'lable[\s\S]*"label"'):
        dataset.filter(pl.col("lable") == 1)


def test_filter_refuses_what_is_not_one_boolean_column(dataset: Dataset) -> None:
    with pytest.raises(SchemaError, match=r"col\(\"label\"\) is Int32, not Boolean"):
        dataset.filter(pl.col("label"))
    with pytest.raises(SchemaError, match=r"2 columns.*all_horizontal"):
        dataset.filter(pl.col("label", "width") > 0)
    with pytest.raises(TypeError, match="not 'label = 1'"):
        dataset.filter("label = 1")


def test_select_rows_keeps_order_and_duplicates(dataset: Dataset) -> None:
    assert samples(dataset.select_rows([3, 3, 0])) == [3, 3, 0]
    assert samples(dataset.select_rows(np.array([11, 2], np.uint8))) == [11, 2]
    assert samples(dataset.select_rows(range(4, 0, -2))) == [4, 2]
    assert samples(dataset.select_rows(pl.Series([5, 1]))) == [5, 1]
    assert samples(dataset.select_rows([])) == []


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([0, -1], IndexError, "item 1 is row -1; rows are 0 to 11"),
        ([12], IndexError, "item 0 is row 12; rows are 0 to 11"),
        ([1.0], TypeError, "float64"),
        ([True, False], TypeError, "bool"),
        (3, TypeError, "3"),
        ([[1]], TypeError, "1-D"),
    ],
)
def test_select_rows_refuses_what_is_no_row(
    dataset: Dataset, rows: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        dataset.select_rows(rows)


def test_sort_is_stable_both_ways(dataset: Dataset) -> None:
    assert samples(dataset.sort("label")) == [1, 4, 6, 7, 10, 11, 2, 3, 8, 0, 5, 9]
    assert samples(dataset.sort("label", descending=True)) == [0, 5, 9, 2, 3, 8, 1, 4, 6, 7, 10, 11]
    assert samples(dataset.sort(["label", -pl.col("sample_id")]).head(3)) == [11, 10, 7]


def test_sample_draws_without_replacement_and_grows_at_the_end(dataset: Dataset) -> None:
    all_of_them = samples(dataset.sample(N, seed=3))
    assert sorted(all_of_them) == list(range(N))
    assert all_of_them != list(range(N))
    assert samples(dataset.sample(5, seed=3)) == all_of_them[:5]
    assert samples(dataset.sample(5, seed=3 + 2**33)) != all_of_them[:5]
    assert samples(dataset.sample(0)) == []


def test_sample_takes_the_first_slots_of_the_permuted_order(dataset: Dataset) -> None:
    from dsrt_format import reference

    rows = reference.rows("permuted", N, 9, 0, 7)
    assert samples(dataset.sample(7, seed=9)) == rows
    chosen = [1, 3, 5, 7, 9, 11]
    rows = reference.rows("permuted", 6, 9, 0, 4)
    assert samples(dataset.select_rows(chosen).sample(4, seed=9)) == [chosen[row] for row in rows]


def test_sample_and_head_refuse_impossible_numbers(dataset: Dataset) -> None:
    with pytest.raises(ValueError, match="13 of 12 rows"):
        dataset.sample(13)
    with pytest.raises(ValueError, match="n=-1"):
        dataset.sample(-1)
    with pytest.raises(ValueError, match="n=-2"):
        dataset.head(-2)
    with pytest.raises(TypeError):
        dataset.head(2.0)
    assert len(dataset.head(100)) == N


def test_weights_are_set_by_expressions_arrays_and_series(dataset: Dataset) -> None:
    counts = {label: LABELS.count(label) for label in LABELS}
    balanced = dataset.with_weights(1 / pl.len().over("label"))
    assert balanced.population.weights.tolist() == [1 / counts[label] for label in LABELS]
    assert dataset.with_weights(range(N)).metadata["weight"].to_list() == [float(i) for i in range(N)]
    assert dataset.with_weights(pl.lit(2)).population.weights.tolist() == [2.0] * N
    assert dataset.with_weights(pl.Series([1] * N)).population.weights.tolist() == [1.0] * N
    assert dataset.with_weights(pl.col("label") == 0).population.weights[:3].tolist() == [0.0, 1.0, 0.0]
    again = balanced.with_weights(pl.col("weight") * 2)
    assert again.population.weights.tolist() == [2 / counts[label] for label in LABELS]


def test_weights_follow_their_rows(dataset: Dataset) -> None:
    weighed = dataset.with_weights(np.arange(N) / 4)
    assert weighed.select_rows([3, 0, 3]).population.weights.tolist() == [0.75, 0.0, 0.75]
    assert weighed.filter(pl.col("weight") > 2.4).population.weights.tolist() == [2.5, 2.75]


def test_stored_weights_go_when_they_are_removed_and_do_not_come_back(weighted: Path) -> None:
    dataset = Dataset.open(weighted)
    assert dataset.select_rows([2, 1]).population.weights.tolist() == [1.0, 0.5]
    unweighted = dataset.with_weights(None)
    assert unweighted.population.weights is None
    assert unweighted.select_rows([2, 1]).population.weights is None
    assert unweighted.with_columns(one=pl.lit(1)).population.weights is None
    assert unweighted.metadata["weight"].null_count() == 4


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_weights_that_cannot_be_drawn_by_are_refused_with_their_row(dataset: Dataset, bad: float) -> None:
    weights = [1.0] * N
    weights[4] = bad
    with pytest.raises(ValueError, match="4"):
        dataset.with_weights(weights)


def test_weights_that_are_null_strings_or_too_few_are_refused(dataset: Dataset) -> None:
    with pytest.raises(ValueError, match=r"1 of 12 weights are null, the first in row 5.*fill_null"):
        dataset.with_weights(pl.col("width"))
    with pytest.raises(TypeError, match="String"):
        dataset.with_weights(pl.col("species"))
    with pytest.raises(TypeError, match=r"pl\.col\('label'\)"):
        dataset.with_weights("label")
    with pytest.raises(ValueError, match="12"):
        dataset.with_weights([1.0, 2.0])


def test_columns_are_added_and_replaced_and_seen_by_later_edits(dataset: Dataset) -> None:
    one = dataset.with_columns(pl.col("label").alias("a") * 2, b=pl.col("species").str.to_uppercase())
    assert one.metadata.columns[-3:] == ["weight", "a", "b"]
    two = one.with_columns(a=pl.col("a") + 1)
    assert two.metadata["a"].to_list() == [2 * label + 1 for label in LABELS]
    assert one.metadata["a"].to_list() == [2 * label for label in LABELS]
    assert two.filter(pl.col("a") == 5).metadata["b"].to_list() == ["CAT", "DOG", "DOG"]
    assert dataset.with_columns().metadata.columns == dataset.metadata.columns


def test_columns_are_added_by_any_iterable_of_expressions(dataset: Dataset) -> None:
    double, triple = ((pl.col("label") * i).alias(name) for i, name in ((2, "double"), (3, "triple")))
    for exprs in ([double, triple], (expr for expr in (double, triple)), iter([double, triple])):
        added = dataset.with_columns(exprs, one=pl.lit(1)).metadata
        assert added.columns[-3:] == ["double", "triple", "one"]
        assert added["triple"].to_list() == [3 * label for label in LABELS]


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (pl.lit(1).alias("label"), "'label' is the name of a stored metadata column.*'label_new'"),
        (pl.lit(1).alias("image"), "'image' is the name of a payload field"),
        (pl.lit(1.0).alias("weight"), "with_weights"),
        (pl.lit(1).alias("cache_id"), "cache_id says which sample"),
        (pl.lit(1).alias("_row"), "_row"),
        (pl.lit(1).alias(""), "name"),
        (pl.all(), "cache_id"),
    ],
)
def test_columns_whose_name_is_taken_are_refused(dataset: Dataset, expr: pl.Expr, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        dataset.with_columns(expr)


@pytest.mark.parametrize(
    ("expr", "advice"),
    [
        (pl.col("species").cast(pl.Categorical), r"cast\(pl.String\)"),
        (pl.lit("a", pl.Enum(["a"])), r"cast\(pl.String\)"),
        (pl.col("label").cast(pl.Decimal(10, 2)), r"cast\(pl.Float64\)"),
        (pl.concat_list("label", "label"), "payload field"),
        (pl.struct("label", "width"), r"struct\.field"),
        (pl.col("taken").dt.time(), "Duration"),
        (pl.col("taken").dt.replace_time_zone("Europe/Rome"), r"convert_time_zone\('UTC'\)"),
        (pl.col("label").cast(pl.Int128), r"cast\(pl.Int64\)"),
        (pl.lit(None), "cast"),
    ],
)
def test_columns_of_other_types_are_refused_with_advice(dataset: Dataset, expr: pl.Expr, advice: str) -> None:
    with pytest.raises(SchemaError, match=f"column 'c' is .*{advice}"):
        dataset.with_columns(c=expr)


def test_columns_of_every_type_are_delivered_exactly(bare: Path) -> None:
    whole = {"u64": [2**64 - 1, 0, 1], "i8": [-128, 127, 0], "yes": [True, False, True]}
    real = {"f32": [0.1, float("inf"), -0.0], "f64": [5e-324, float("-inf"), 1e300]}
    text = {"text": ["", None, "größe\0"], "raw": [b"", b"\xff\0", None], "^x$": ["a", "b", "c"]}
    moments = [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2020, 1, 1), datetime(9999, 1, 1)]
    frame = pl.DataFrame({**whole, **real, **text, "at": moments, "zone": moments}).with_columns(
        pl.col("u64").cast(pl.UInt64),
        pl.col("i8").cast(pl.Int8),
        pl.col("f32").cast(pl.Float32),
        pl.col("zone").dt.replace_time_zone("UTC"),
        day=pl.col("at").dt.date(),
        took=pl.col("at") - pl.lit(moments[1]),
        ns=pl.Series([1, -1, 2**62]).cast(pl.Datetime("ns")),
    )
    dataset = Dataset.open(bare).with_columns(*frame.iter_columns())
    assert_frame_equal(dataset.metadata.select(pl.exclude("cache_id", "sample_id", "weight")), frame)
    batch = dataset.select_rows([2, 1, 0])[:]
    for name, column in (
        dataset.select_rows([2, 1, 0]).metadata.select(pl.exclude("weight")).to_dict().items()
    ):
        got = batch.get(name)
        if name in ("text", "raw", "^x$"):
            assert got == column.to_list()
        elif name not in ("cache_id", "sample_id"):
            want = column.to_numpy()
            assert got.dtype == want.dtype, name
            assert got.tobytes() == np.ascontiguousarray(want).tobytes(), name


def test_an_extra_column_whose_name_arrow_cannot_carry_is_refused(dataset: Dataset) -> None:
    with pytest.raises(SchemaError, match=r"'a\\x00b' holds U\+0000"):
        dataset.with_columns(pl.lit(1).alias("a\0b"))


def test_weights_are_one_column(dataset: Dataset) -> None:
    with pytest.raises(SchemaError, match="2 columns"):
        dataset.with_weights(pl.col("label", "width"))
