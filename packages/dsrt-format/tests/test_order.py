import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrt_format.reference import augment_seed, rows
from dsrt_format.reference.order import permuted_row, philox4x32_10, weight_table

seeds = st.integers(0, 2**64 - 1)
weight_lists = st.lists(
    st.floats(0, allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 5e-324, 1e300, 1.0]),
    min_size=1,
    max_size=40,
).filter(any)


@pytest.fixture(scope="module")
def sampling(vectors):
    return json.loads((vectors / "sampling.json").read_text())


def ints(texts):
    return [int(text) for text in texts]


def test_philox_reproduces_the_published_answers(sampling):
    assert len(sampling["philox4x32_10"]) == 3
    for case in sampling["philox4x32_10"]:
        assert list(philox4x32_10(tuple(case["counter"]), tuple(case["key"]))) == case["words"]


@pytest.mark.parametrize("integer", [np.int64, np.uint64, np.uint32, np.int32])
@pytest.mark.parametrize("order", ["sequential", "uniform", "weighted", "permuted"])
def test_integers_of_numpy_are_integers(order, integer):
    weights = [1.0, 2.0, 3.0] * 400 if order == "weighted" else None
    arguments = (1200, 2**31 - 1, 5, 6)
    expected = rows(order, *arguments, weights)
    assert rows(order, *map(integer, arguments), weights) == expected
    assert augment_seed(*map(integer, arguments[1:])) == augment_seed(*arguments[1:])


@pytest.mark.parametrize("bad", [1.0, "1", None])
def test_what_is_no_integer_is_refused_by_name(bad):
    for place, name in enumerate(("n", "seed", "start", "count")):
        arguments = [10, 0, 0, 1]
        arguments[place] = bad
        with pytest.raises(TypeError, match=f"{name} is {bad!r}"):
            rows("uniform", *arguments)


def test_uniform_reproduces_the_vectors(sampling):
    for case in sampling["uniform"]:
        found = [rows("uniform", int(case["n"]), int(case["seed"]), k, 1)[0] for k in ints(case["k"])]
        assert found == ints(case["row"])


def test_permuted_reproduces_the_vectors_of_slots(sampling):
    for case in sampling["permuted"]:
        n, seed = int(case["n"]), int(case["seed"])
        assert [permuted_row(seed, n, case["epoch"], slot) for slot in ints(case["slot"])] == ints(
            case["row"]
        )


def test_weighted_reproduces_the_vectors(sampling):
    for case in sampling["weights"]:
        weights = [float.fromhex(text) for text in case["weight"]]
        table = weight_table(weights)
        assert table == ints(case["fixed_point"])
        assert sum(table) == int(case["total"])
        seed = int(case["seed"])
        found = [rows("weighted", len(weights), seed, k, 1, weights)[0] for k in ints(case["k"])]
        assert found == case["row"]


def test_permuted_reproduces_the_vectors_of_streams(sampling):
    for case in sampling["permuted_stream"]:
        n, seed = int(case["n"]), int(case["seed"])
        assert [rows("permuted", n, seed, p, 1)[0] for p in ints(case["position"])] == ints(case["row"])


def test_augment_seed_reproduces_the_vectors(sampling):
    for case in sampling["augment_seed"]:
        found = [augment_seed(int(case["seed"]), p, 1)[0] for p in ints(case["position"])]
        assert found == ints(case["value"])


def test_a_range_of_positions_equals_its_positions_one_by_one():
    for order in "sequential", "uniform", "permuted", "weighted":
        weights = [float(i % 3) for i in range(7)] if order == "weighted" else None
        whole = rows(order, 7, 5, 3, 30, weights)
        assert whole == [rows(order, 7, 5, p, 1, weights)[0] for p in range(3, 33)]
        assert rows(order, 7, 5, 3, 0, weights) == []


@given(seeds, st.integers(1, 700), st.integers(0, 2**40))
def test_every_row_comes_once_in_each_epoch_of_permuted(seed, n, epoch):
    assert sorted(rows("permuted", n, seed, n * epoch, n)) == list(range(n))


@given(st.integers(1, 2**62), st.integers(0, 2**63), st.integers(0, 9))
def test_sequential_repeats_the_rows(n, start, count):
    assert rows("sequential", n, 0, start, count) == [p % n for p in range(start, start + count)]


@given(weight_lists, seeds, st.integers(0, 2**62))
def test_weighted_draws_rows_with_weight_only(weights, seed, start):
    assert all(weights[row] > 0 for row in rows("weighted", len(weights), seed, start, 20, weights))


@given(weight_lists)
def test_integer_weights_are_the_exact_ones_rounded_at_one_scale(weights):
    table = weight_table(weights)
    assert sum(table) <= 2**63
    # The greatest weight is never rounded: it has 53 bits, and its integer at least 53 when rows are few.
    scale = Fraction(max(table)) / Fraction(max(weights))
    assert scale.numerator & (scale.numerator - 1) == 0
    assert scale.denominator & (scale.denominator - 1) == 0
    assert table == [max(1, round(Fraction(w) * scale)) if w else 0 for w in weights]


def test_weights_draw_in_proportion():
    counts = Counter(rows("weighted", 4, 1, 0, 20_000, [1.0, 0.0, 2.0, 5.0]))
    assert set(counts) == {0, 2, 3}
    for row, share in (0, 1 / 8), (2, 2 / 8), (3, 5 / 8):
        assert math.isclose(counts[row] / 20_000, share, abs_tol=0.02)


@pytest.mark.parametrize(
    ("order", "n", "seed", "start", "count", "weights", "words"),
    [
        ("uniform", 0, 0, 0, 1, None, "1 to 2"),
        ("uniform", 2**62 + 1, 0, 0, 1, None, "1 to 2"),
        ("uniform", 1, -1, 0, 1, None, "seed"),
        ("uniform", 1, 2**64, 0, 1, None, "seed"),
        ("uniform", 1, 0, -1, 1, None, "positions"),
        ("uniform", 1, 0, 2**64, 1, None, "positions"),
        ("uniform", 1, 0, 0, 1, [1.0], "belong to"),
        ("weighted", 1, 0, 0, 1, None, "belong to"),
        ("weighted", 1, 0, 0, 1, [1.0, 2.0], "2 weights for 1 rows"),
        ("weighted", 2, 0, 0, 1, [1.0, -1.0], "row 1"),
        ("weighted", 2, 0, 0, 1, [math.nan, 1.0], "row 0"),
        ("weighted", 2, 0, 0, 1, [math.inf, 1.0], "row 0"),
        ("weighted", 2, 0, 0, 1, [0.0, 0.0], "none of the 2 weights"),
        ("shuffled", 2, 0, 0, 1, None, "expected 'sequential'"),
    ],
)
def test_arguments_out_of_range_are_refused(order, n, seed, start, count, weights, words):
    with pytest.raises(ValueError, match=words):
        rows(order, n, seed, start, count, weights)
