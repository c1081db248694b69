"""Orders: the engine's rows are the reference's, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrt_format import reference
from dsrt_native import order

seeds = st.integers(0, 2**64 - 1)
starts = st.integers(0, 2**62) | st.integers(0, 2000)


@given(st.sampled_from(["sequential", "uniform", "permuted"]), st.integers(1, 2**62), seeds, starts)
def test_rows_of_unweighted_orders_are_the_references(word, n, seed, start):
    rows = order.rows(word, n, seed, start, 20)
    assert rows.dtype == np.int64
    assert rows.tolist() == reference.rows(word, n, seed, start, 20)


weights = st.lists(
    st.floats(0, allow_infinity=False) | st.sampled_from([0.0, -0.0, 5e-324, 1e300]), min_size=1
)


@given(weights.filter(any), seeds, starts)
def test_rows_by_weight_are_the_references(weights, seed, start):
    rows = order.rows("weighted", len(weights), seed, start, 20, weights)
    assert rows.tolist() == reference.rows("weighted", len(weights), seed, start, 20, weights)
    assert all(weights[row] > 0 for row in rows)


def test_positions_go_up_to_the_last_that_64_bits_hold():
    last = order.rows("uniform", 1000, 5, 2**64 - 3, 3)
    assert last.tolist() == reference.rows("uniform", 1000, 5, 2**64 - 3, 3)
    assert order.rows("uniform", 1000, 5, 2**64 - 1, 0).tolist() == []


def test_a_sampler_gives_the_same_rows_call_after_call():
    weights = np.arange(1000.0)
    for word in order.ORDERS:
        given = weights if word == "weighted" else None
        sampler = order.Sampler(word, 1000, 5, given)
        parts = [sampler.rows(start, count) for start, count in [(0, 1), (1, 700), (701, 0), (701, 2000)]]
        assert np.concatenate(parts).tolist() == order.rows(word, 1000, 5, 0, 2701, given).tolist()
        assert sampler.rows(690, 20).tolist() == reference.rows(word, 1000, 5, 690, 20, given)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="count=2: expected 0 to 1"):
        order.rows("uniform", 10, 0, 2**64 - 1, 2)
    with pytest.raises(ValueError, match="n=0: expected 1 to"):
        order.rows("uniform", 0, 0, 0, 1)
    with pytest.raises(ValueError, match="order='shuffled': expected one of 'sequential'"):
        order.rows("shuffled", 10, 0, 0, 1)
    with pytest.raises(ValueError, match="weights belong to the order 'weighted'"):
        order.rows("uniform", 2, 0, 0, 1, [1.0, 2.0])
    with pytest.raises(ValueError, match="weights belong to the order 'weighted'"):
        order.rows("weighted", 2, 0, 0, 1)
    with pytest.raises(ValueError, match="3 weights for 2 rows"):
        order.rows("weighted", 2, 0, 0, 1, [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="float64 on one axis"):
        order.rows("weighted", 2, 0, 0, 1, ["1", "2"])
    with pytest.raises(MemoryError, match="do not fit into memory"):
        order.rows("uniform", 2, 0, 0, 2**62)
