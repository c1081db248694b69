"""A setting is the best because it is fast, not because of what it did before the clock began."""

import time
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import numpy as np
import pytest

from benchmarks import sweep, timing
from benchmarks.store import Store, uniform
from benchmarks.suite import Setting
from tests.benchmarks.test_workload import DENSE

A, B, C = ({"loop": {"threads": count}} for count in (1, 2, 3))


def test_the_best_two_are_tried_again_for_longer_and_that_rate_counts() -> None:
    asked: list[tuple[Setting, float]] = []

    def rate(setting: Setting, seconds: float) -> float:
        asked.append((setting, seconds))
        first = {1: 10.0, 2: 9.0, 3: 5.0}[setting["loop"]["threads"]]
        return first if seconds == 1 else 19 - first

    found = sweep.tried([A, B, C], rate, 1)
    assert found == [(A, 9.0), (B, 10.0), (C, 5.0)]
    assert asked[3:] == [(A, sweep.LONGER), (B, sweep.LONGER)]
    assert sweep.best(found) == B


def test_what_is_plainly_the_best_is_not_tried_again() -> None:
    asked: list[Setting] = []

    def rate(setting: Setting, _: float) -> float:
        asked.append(setting)
        return 10.0 if setting == A else 1.0

    assert sweep.best(sweep.tried([A, B, C], rate, 1)) == A
    assert asked == [A, B, C]


def test_what_is_best_in_the_end_was_tried_again() -> None:
    asked: list[Setting] = []

    def rate(setting: Setting, seconds: float) -> float:
        asked.append(setting)
        first, again = {1: (10.0, 7.0), 2: (9.5, 7.5), 3: (9.0, 6.0)}[setting["loop"]["threads"]]
        return first if seconds == 1 else again

    # The third had luck, and is not the best because it was not looked at any more.
    assert sweep.best(sweep.tried([A, B, C], rate, 1)) == B
    assert asked == [A, B, C, A, B, C]


def test_a_setting_that_fails_when_it_is_tried_again_is_not_the_best() -> None:
    def rate(setting: Setting, seconds: float) -> float:
        if setting == A and seconds > 1:
            raise OSError("it broke")
        return 10.0 if setting == A else 9.0

    found = sweep.tried([A, B], rate, 1)
    assert found == [(A, "failed: OSError: it broke"), (B, 9.0)]
    assert sweep.best(found) == B


def test_what_takes_its_own_time_is_tried_once() -> None:
    asked: list[Setting] = []

    def rate(setting: Setting, _: float) -> float:
        asked.append(setting)
        return 10.0

    sweep.tried([A, B], rate)
    assert asked == [A, B]


def test_the_fastest_setting_on_the_first_layout_is_tried_on_the_others() -> None:
    ways: list[Setting] = [{"layout": {"mib": mib}} for mib in (1, 2, 3)]

    def rate(setting: Setting, _: float) -> float:
        return float(100 * setting["layout"]["mib"] + 10 * setting["loop"]["threads"])

    found = sweep.tried_by_steps(ways, [A, B, C], rate, 1)
    assert [setting for setting, _ in found] == [
        *(ways[0] | each for each in (A, B, C)),
        *(each | C for each in ways[1:]),
    ]
    assert sweep.best(found) == ways[2] | C


def test_the_two_best_of_all_steps_are_tried_again_together() -> None:
    ways: list[Setting] = [{"layout": {"mib": mib}} for mib in (1, 2)]
    asked: list[tuple[Setting, float]] = []

    def rate(setting: Setting, seconds: float) -> float:
        asked.append((setting, seconds))
        if setting["loop"] == A["loop"]:
            return 7.0
        # For longer, the other layout turns out to be the slower one.
        return 10.0 if (setting["layout"]["mib"], seconds) != (2, 2) else 9.0

    found = sweep.tried_by_steps(ways, [A, C], rate, 1)
    first, second = ways[0] | C, ways[1] | C
    assert asked == [(ways[0] | A, 1), (first, 1), (second, 1), (first, 2), (second, 2)]
    assert sweep.best(found) == first


def test_a_failure_is_the_reason_before_what_a_setting_cannot() -> None:
    cannot, failed, late = (A, "no codec"), (B, "failed: it broke"), (C, "not within 60 s")
    assert sweep.best([cannot, failed, late]) == "failed: it broke"
    assert sweep.best([cannot, late]) == "not within 60 s"
    assert sweep.best([cannot, (B, "no batches")]) == "no codec"


def test_batches_that_were_queued_before_the_clock_began_are_not_counted() -> None:
    def batches() -> Iterator[int]:
        for number in range(100):
            if number >= timing.QUEUED:  # the queue is empty
                time.sleep(0.001)
            yield number

    loader = batches()
    timing.settle(loader.__next__, 0.01)
    assert next(loader) >= timing.QUEUED


def test_the_start_of_a_loader_does_not_count_as_settling() -> None:
    def batches() -> Iterator[int]:
        time.sleep(0.1)
        yield from count()

    loader = batches()
    timing.settle(loader.__next__, 0.01)
    assert next(loader) > timing.QUEUED


def test_no_block_of_numbers_is_asked_for_twice_and_all_systems_are_asked_for_the_same() -> None:
    blocks, others = (list(islice(uniform(DENSE, seed=2), 3)) for _ in range(2))
    assert np.array_equal(blocks, others)
    assert len({each.tobytes() for block in blocks for each in block}) == sum(map(len, blocks))
    assert set(np.concatenate([each for block in blocks for each in block]).tolist()) == set(
        range(DENSE.samples)
    )


@pytest.mark.parametrize("seconds", [0.0, 0.01])
def test_gathers_are_of_numbers_drawn_anew_and_there_is_one_at_least(seconds: float) -> None:
    asked: list[bytes] = []

    def gather(numbers: np.ndarray) -> np.ndarray:
        asked.append(numbers.tobytes())
        return numbers

    nobody: Any = None
    times = timing.gathers(gather, Store.asked(Store(nobody, DENSE, nobody)), seconds)
    assert len(times) == len(asked) == len(set(asked)) >= 1
