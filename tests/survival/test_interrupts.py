"""Ctrl-C at random instants: KeyboardInterrupt, sealed shards kept, no process left."""

import pytest

from tests.survival.interrupts import Interrupter


@pytest.mark.parametrize("at_the_end", [False, True], ids=["anywhere", "at the end"])
def test_an_interrupted_build_keeps_what_was_sealed_and_the_next_run_goes_on(
    nursery, expected, tmp_path, at_the_end
):
    interrupter = Interrupter(nursery, expected, tmp_path, seed=3)
    for _ in range(6):
        # How many hit the build, and not the moment behind it, is up to the machine; the long form counts.
        interrupter.build(at_the_end=at_the_end)
    assert interrupter.counts.identical == 6


def test_with_worker_processes_none_is_left(nursery, expected, tmp_path):
    interrupter = Interrupter(nursery, expected, tmp_path, seed=4)
    for _ in range(2):
        interrupter.build(workers=True)
    assert interrupter.counts.identical == 2
