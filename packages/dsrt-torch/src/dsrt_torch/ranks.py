"""Which process of how many this is: the one place that looks at process group and environment."""

import os

import torch.distributed as dist

from dsrt_native.arguments import whole

__all__ = ["checked", "found", "local_world_size", "of_group"]


def checked(rank: int | None, world_size: int | None) -> tuple[int, int] | None:
    """Return what the caller says about the topology as ints, or None if it is to be found.

    Raises:
        TypeError: A value is not an int, or a bool.
        ValueError: Only one of the two is given, or the rank is not one of the world's.
    """
    if rank is None and world_size is None:
        return None
    if rank is None or world_size is None:
        raise ValueError(f"rank={rank} and world_size={world_size}: give both, or neither to have them found")
    rank, world_size = whole("rank", rank, 0), whole("world_size", world_size, 1)
    if rank >= world_size:
        raise ValueError(f"rank={rank} of world_size={world_size}: ranks are 0 to world_size - 1")
    return rank, world_size


def found() -> tuple[int, int]:
    """Return rank and world size: of the process group, else of torchrun's environment, else (0, 1).

    Makes no collective call.

    Raises:
        ValueError: The environment has one of RANK and WORLD_SIZE without the other, or they are not numbers.
    """
    if (group := of_group()) is not None:
        return group
    rank, world_size = _variable("RANK"), _variable("WORLD_SIZE")
    try:
        topology = checked(rank, world_size)
    except ValueError as error:
        raise ValueError(f"{error} (from the environment variables RANK and WORLD_SIZE)") from None
    return (0, 1) if topology is None else topology


def of_group() -> tuple[int, int] | None:
    """Return rank and world size of the process group, or None if it is not initialised."""
    if not (dist.is_available() and dist.is_initialized()):
        return None
    return dist.get_rank(), dist.get_world_size()


def local_world_size() -> int:
    """Return how many processes torchrun started on this machine, 1 without torchrun."""
    size = _variable("LOCAL_WORLD_SIZE")
    return 1 if size is None else max(1, size)


def _variable(name: str) -> int | None:
    text = os.environ.get(name, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"the environment variable {name} is {text!r}; torchrun sets it to a number"
        ) from None
