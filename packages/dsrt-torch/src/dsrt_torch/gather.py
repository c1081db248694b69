"""Bringing the results of all ranks together without the padding."""

import math

import torch
import torch.distributed as dist
from torch import Tensor

__all__ = ["gather_valid"]


def gather_valid(tensor: Tensor, valid: Tensor) -> Tensor:
    """Return the rows of all ranks in the order of the stream, without those that are padding or damaged.

    A collective call where there is a process group: every rank makes it, with tensors of the same shape and
    dtype, as the batches of a loader have. Works with gloo and nccl. Without a process group it is
    ``tensor[valid]``.

    Args:
        tensor: ``[B, ...]`` of any dtype: one row per sample of this rank's batch, such as predictions.
        valid: bool, ``[B]``: the batch's ``_valid``.

    Returns:
        ``[valid rows, ...]``, the same on every rank, without gradient, on the device of `tensor`.

    Raises:
        ValueError: `valid` is not one bool per row.
    """
    if valid.dtype != torch.bool or valid.ndim != 1 or tensor.ndim == 0 or len(valid) != len(tensor):
        raise ValueError(
            f"gather_valid: expected one bool per row of a tensor of shape {tuple(tensor.shape)}, not "
            f"{valid.dtype} of shape {tuple(valid.shape)}"
        )
    count, shape = len(tensor), tensor.shape[1:]
    # Bytes, because backends and torch's own indexing lack some dtypes. The mask is the last byte of each
    # row: one message, since each call waits for all ranks.
    stored = tensor.detach().resolve_conj().contiguous().view(-1).view(torch.uint8)
    rows = stored.view(count, math.prod(shape) * tensor.element_size())
    rows = torch.cat([rows, valid.to(tensor.device).view(torch.uint8)[:, None]], dim=1)
    if dist.is_available() and dist.is_initialized():
        rows = _of_all_ranks(rows)
    kept = rows[rows[:, -1] != 0][:, :-1].contiguous()
    return kept.view(-1).view(tensor.dtype).view(len(kept), *shape)


def _of_all_ranks(rows: Tensor) -> Tensor:
    mine = rows
    if dist.get_backend() == "nccl":
        mine = rows.to(torch.device("cuda", torch.cuda.current_device()))
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine)
    return torch.cat(parts).to(rows.device)
