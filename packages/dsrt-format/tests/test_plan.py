from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrt_format.reference import plan

lasts = st.sampled_from(["drop", "pad", "short"])


def window(position, epoch_len, global_batch, last):
    """All steps of one pass that begins at `position`, and the position after it."""
    steps, end = [], (position // epoch_len + 1) * epoch_len
    while position < end:
        step, position = plan(position, epoch_len, global_batch, last)
        steps.append(step)
    assert position == end
    return steps, position


def test_a_step_inside_a_window_takes_the_next_positions():
    for last in "drop", "pad", "short":
        assert plan(20, 10, 4, last) == ([(p, True) for p in range(20, 24)], 24)


def test_drop_ends_the_window_with_the_last_full_step():
    assert plan(24, 10, 4, "drop") == ([(p, True) for p in range(24, 28)], 30)
    assert plan(28, 10, 4, "drop") == ([], 30)
    assert plan(16, 10, 4, "drop") == ([(p, True) for p in range(16, 20)], 20)


def test_pad_repeats_the_window_cyclically_from_its_start():
    assert plan(28, 10, 4, "pad") == ([(28, True), (29, True), (20, False), (21, False)], 30)
    assert plan(3, 3, 8, "pad") == (
        [(3, True), (4, True), (5, True), *((p, False) for p in (3, 4, 5, 3, 4))],
        6,
    )


def test_short_takes_what_is_left():
    assert plan(28, 10, 4, "short") == ([(28, True), (29, True)], 30)
    assert plan(0, 3, 8, "short") == ([(0, True), (1, True), (2, True)], 3)


@given(st.integers(0, 2**61), st.integers(1, 60), st.integers(1, 60), lasts)
def test_a_pass_hands_out_the_rest_of_its_window_in_order(position, epoch_len, global_batch, last):
    if last == "drop" and epoch_len < global_batch:
        with pytest.raises(ValueError, match="would drop everything"):
            plan(position, epoch_len, global_batch, last)
        return
    steps, end = window(position, epoch_len, global_batch, last)
    valid = [p for step in steps for p, valid in step if valid]
    left = end - position
    assert valid == list(range(position, position + (left - left % global_batch if last == "drop" else left)))
    assert all(end - epoch_len <= p < end for step in steps for p, _ in step)
    if last != "short":
        assert all(len(step) == global_batch for step in steps if step)
    for step in steps:
        assert [v for _, v in step] == sorted((v for _, v in step), reverse=True)


@given(st.integers(0, 2**40), st.integers(1, 60), st.integers(1, 60), lasts)
def test_a_whole_window_has_the_number_of_steps_that_len_says(epoch, epoch_len, global_batch, last):
    if last == "drop" and epoch_len < global_batch:
        return
    steps, _ = window(epoch * epoch_len, epoch_len, global_batch, last)
    assert len(steps) == (epoch_len // global_batch if last == "drop" else -(-epoch_len // global_batch))
    assert all(steps)
    starts = [step[0][0] for step in steps]
    assert all(b - a == global_batch for a, b in pairwise(starts))


@pytest.mark.parametrize(
    ("position", "epoch_len", "global_batch", "last"),
    [(-1, 1, 1, "pad"), (2**62, 1, 1, "pad"), (0, 0, 1, "pad"), (0, 1, 0, "pad"), (0, 1, 1, "wrap")],
)
def test_arguments_out_of_range_are_refused(position, epoch_len, global_batch, last):
    with pytest.raises(ValueError, match=" is "):
        plan(position, epoch_len, global_batch, last)
