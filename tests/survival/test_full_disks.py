"""Disks that are full at a write: an OSError that names the file, and a next run that goes on."""

import pytest

from tests.survival.full_disks import FullDisks
from tests.survival.small_disk import why_not

DISKS = [] if why_not() else ["size", "nr_inodes"]


@pytest.fixture
def disks(nursery, expected, tmp_path) -> FullDisks:
    return FullDisks(nursery, expected, tmp_path)


@pytest.mark.parametrize("old", [False, True], ids=["fresh", "rebuild"])
def test_a_file_that_cannot_grow_ends_the_run_and_the_next_one_goes_on(disks, old):
    for limit in disks.limits("texts")[::9]:
        disks.limited("texts", limit, old=old)
    assert disks.counts.failed > 3
    assert disks.counts.identical == disks.counts.failed


def test_run_after_run_with_a_little_more_room_ends_in_the_same_bytes(disks):
    disks.rising("tokens", step=3)
    assert disks.counts.failed > 5


@pytest.mark.parametrize("old", [False, True], ids=["fresh", "rebuild"])
@pytest.mark.parametrize("kind", DISKS)
def test_a_small_disk_ends_the_run_and_with_room_the_next_one_goes_on(disks, kind, old):
    for number in range(2, 44, 5):
        disks.small("raw", f"{kind}={number}", old=old)
    assert disks.counts.failed > 3
    assert disks.counts.identical == disks.counts.failed
    assert disks.counts.resumed > 0
