"""Merges that are killed: absent or complete, and the next one just works."""

from tests.survival.merges import Merger


def test_merges_killed_at_random_instants_end_byte_identical_and_leave_nothing(nursery, expected, tmp_path):
    merger = Merger(nursery, expected, tmp_path, seed=7)
    for _ in range(4):
        merger.merge()
    assert merger.counts.kills > 0
    assert merger.counts.identical == 4
