import pytest

from dsrt_torch import ranks


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
