"""Page-locked memory, from which a GPU copies while the program goes on."""

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["can_pin", "lend", "page_locked", "pinned"]


def can_pin() -> bool:
    """Return whether there is a device to pin memory for.

    Warns:
        UserWarning: There is none.
    """
    if not torch.cuda.is_available():
        warnings.warn("pin_memory=True: there is no CUDA device, so batches stay pageable", stacklevel=3)
        return False
    return True


def page_locked(size: int) -> Tensor:
    """Return `size` bytes of page-locked memory, owned by torch's host allocator.

    The memory of a batch is never used for a second one: only that allocator knows when an asynchronous copy
    out of it has finished, and takes it back when the last tensor has died and that is so.
    """
    # Whatever the default device is.
    return torch.empty(size, dtype=torch.uint8, device="cpu", pin_memory=True)


def lend(size: int) -> NDArray[np.uint8]:
    """Return page-locked memory for a batch of `size` bytes.

    The array's `base` is a tensor over the same storage, from which the tensors of the batch are cut. Cut
    from the array itself they would have a storage of their own, which the host allocator does not know.
    """
    # One byte at least, so that the address is real.
    array: NDArray[np.uint8] = page_locked(max(size, 1))[:size].numpy()
    return array


def pinned(tensor: Tensor) -> Tensor:
    """Return a page-locked copy of a tensor.

    What cannot be copied so comes as it is: a tensor on a device, a sparse one, one with gradients.
    """
    if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.requires_grad:
        return tensor
    copy = page_locked(tensor.nbytes).view(tensor.dtype).view(tensor.shape)
    return copy.copy_(tensor)
