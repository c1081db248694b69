"""The samplers of dsrt_native give the rows of the reference at every position."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dsrt_format import reference
from dsrt_native import order as native

SEEDS = st.integers(0, 2**64 - 1)
STARTS = st.integers(0, 2**62 - 100) | st.sampled_from([0, 2**32 - 10, 2**62 - 100])
WEIGHTS = st.floats(min_value=0, allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1e-30, 0.1, 1.0, 3.0, 1e300, 1.7976931348623157e308]
)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(["sequential", "uniform", "permuted"]), st.integers(1, 2**62), SEEDS, STARTS)
def test_any_number_of_rows(order, n, seed, start):
    wanted = reference.rows(order, n, seed, start, 20)
    assert native.rows(order, n, seed, start, 20).tolist() == wanted


@settings(deadline=None, max_examples=300)
@given(st.lists(WEIGHTS, min_size=1, max_size=40).filter(any), SEEDS, STARTS)
def test_any_weights(weights, seed, start):
    wanted = reference.rows("weighted", len(weights), seed, start, 30, weights)
    found = native.rows("weighted", len(weights), seed, start, 30, np.array(weights))
    assert found.tolist() == wanted
    assert all(weights[row] > 0 for row in wanted)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 400), SEEDS, st.integers(0, 2**40))
def test_a_permutation_shows_every_row_once_an_epoch(n, seed, epoch):
    rows = native.rows("permuted", n, seed, epoch * n, n)
    assert sorted(rows.tolist()) == list(range(n))
