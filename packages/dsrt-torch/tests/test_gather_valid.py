import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from dsrt_torch import gather_valid

DTYPES = [
    torch.bool,
    torch.uint16,
    torch.int64,
    torch.bfloat16,
    torch.float8_e5m2,
    torch.float64,
    torch.complex64,
]


def test_without_a_process_group_padding_is_removed() -> None:
    x = torch.arange(6.0, requires_grad=True).view(3, 2)
    kept = gather_valid(x, torch.tensor([True, False, True]))
    assert kept.tolist() == [[0, 1], [4, 5]]
    assert not kept.requires_grad


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_dtype_and_shape_is_kept(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    x = torch.ones((4, *shape)).to(dtype)
    kept = gather_valid(x, torch.tensor([False, True, True, False]))
    assert kept.dtype == dtype
    assert kept.shape == (2, *shape)
    assert (kept.to(torch.complex128) == 1).all()
    assert gather_valid(x, torch.zeros(4, dtype=torch.bool)).shape == (0, *shape)
    assert gather_valid(x[:0], torch.zeros(0, dtype=torch.bool)).shape == (0, *shape)


def test_views_are_gathered_as_they_look() -> None:
    x = torch.arange(6).view(2, 3).T
    assert gather_valid(x, torch.tensor([True, False, True])).tolist() == [[0, 3], [2, 5]]
    z = torch.tensor([1 + 2j, 3j]).conj()
    assert gather_valid(z, torch.tensor([True, True])).tolist() == [1 - 2j, -3j]


def test_a_mask_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a tensor of shape \(3,\), not torch.bool of shape \(2,\)"):
        gather_valid(torch.zeros(3), torch.ones(2, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"torch\.int64"):
        gather_valid(torch.zeros(3), torch.ones(3, dtype=torch.int64))


def one_rank(rank: int, world_size: int, store: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)
    for dtype in DTYPES:
        x = torch.tensor([[rank, 0], [rank, 1], [rank, 2]]).to(dtype)
        kept = gather_valid(x, torch.tensor([True, rank != 1, rank == 0]))
        want = torch.tensor([[0, 0], [0, 1], [0, 2], [1, 0], [2, 0], [2, 1]]).to(dtype)
        assert kept.dtype == dtype
        assert torch.equal(kept.to(torch.complex128), want.to(torch.complex128)), (dtype, kept)
    assert gather_valid(torch.zeros(2, 0), torch.tensor([True, rank == 2])).shape == (4, 0)
    dist.destroy_process_group()


def test_all_ranks_get_the_rows_of_all_in_the_order_of_the_stream(tmp_path: Path) -> None:
    ranks = [
        subprocess.Popen([sys.executable, __file__, str(rank), "3", str(tmp_path / "store")])
        for rank in range(3)
    ]
    assert [rank.wait() for rank in ranks] == [0, 0, 0]


if __name__ == "__main__":
    one_rank(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
