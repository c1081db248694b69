"""Writers that want the same target at the same time."""

from tests.survival.races import Races


def test_of_writers_at_once_one_wins_and_the_others_hear_who_holds_the_lock(nursery, expected, tmp_path):
    races = Races(nursery, expected, tmp_path, seed=5)
    for _ in range(10):
        races.round()
    assert races.counts.outcomes["built"] == 10
    assert races.counts.outcomes["locked"] > 0


def test_the_lock_of_a_killed_holder_is_free_at_once(nursery, expected, tmp_path):
    races = Races(nursery, expected, tmp_path, seed=6)
    for _ in range(4):
        races.takeover()
    assert races.counts.takeovers == 4
