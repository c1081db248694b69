import pytest

from dsrt_native import Population
from dsrt_torch import Loader, ranks


def test_explicit_ranks_are_checked() -> None:
    assert ranks.checked(None, None) is None
    assert ranks.checked(2, 3) == (2, 3)
    with pytest.raises(ValueError, match="give both"):
        ranks.checked(0, None)
    with pytest.raises(ValueError, match="rank=3 of world_size=3"):
        ranks.checked(3, 3)
    for rank, world_size in [(0.0, 1), (False, 1), (0, True)]:
        with pytest.raises(TypeError, match="expected an integer"):
            ranks.checked(rank, world_size)


def test_the_environment_of_torchrun_says_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert ranks.found() == (0, 1)
    assert ranks.local_world_size() == 1
    monkeypatch.setenv("RANK", "5")
    with pytest.raises(ValueError, match="environment"):
        ranks.found()
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert ranks.found() == (5, 8)
    assert ranks.local_world_size() == 4
    monkeypatch.setenv("RANK", "five")
    with pytest.raises(ValueError, match="RANK is 'five'"):
        ranks.found()


def test_a_process_group_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    import torch.distributed as dist

    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "8")
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        assert ranks.found() == (0, 1)
    finally:
        dist.destroy_process_group()


def test_a_loader_that_was_settled_before_its_process_group_is_refused_by_it(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    early, given = Loader(population, 2), Loader(population, 2, rank=0, world_size=1)
    assert len(early) == len(given)
    next(iter(early))
    monkeypatch.setattr(ranks, "of_group", lambda: (1, 2))
    with pytest.raises(RuntimeError, match="rank 0 of 1 already; make another one for rank 1 of 2"):
        next(iter(early))
    with pytest.raises(RuntimeError, match="rank 0 of 1 already"):
        next(early.steps())
    next(iter(given))
    late = Loader(population, 2)
    next(iter(late))
    monkeypatch.setattr(ranks, "of_group", lambda: None)
    # The group was destroyed, and the loader goes on.
    next(iter(late))
    for loader in (early, given, late):
        loader.close()
