"""Stream DSRT caches into PyTorch: the loader of dsrt-native in tensors, on every rank, resumable exactly."""

from dsrt_torch.gather import gather_valid
from dsrt_torch.loader import Loader
from dsrt_torch.ragged import RaggedArray
from dsrt_torch.tensors import to_torch

__all__ = ["Loader", "RaggedArray", "gather_valid", "to_torch"]
