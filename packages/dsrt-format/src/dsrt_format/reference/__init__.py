"""The plain implementation of the format and of the sampling arithmetic: slow; others are compared with it."""

from dsrt_format.reference.order import augment_seed, rows
from dsrt_format.reference.plan import plan
from dsrt_format.reference.reader import read, read_sample
from dsrt_format.reference.writer import write

__all__ = ["augment_seed", "plan", "read", "read_sample", "rows", "write"]
