"""A short form of what `python -m tests.survival` does a thousand times."""

from tests.survival.kills import Killer


def test_builds_killed_at_random_instants_end_byte_identical_and_leave_nothing(nursery, expected, tmp_path):
    killer = Killer(nursery, expected, tmp_path, seed=1)
    while killer.counts.kills < 30:
        killer.build(workers=False)
    counts = killer.counts
    print("\n".join(counts.lines()))
    assert counts.identical == counts.builds
    # That it is half of them and more is for the long form to show: a few kills may be unlucky.
    assert counts.between > 0
    assert counts.resumes > 0


def test_builds_with_worker_processes_do_so_too(nursery, expected, tmp_path):
    killer = Killer(nursery, expected, tmp_path, seed=2)
    while killer.counts.kills == 0:
        killer.build("images", workers=True)
    assert killer.counts.identical == killer.counts.builds
