"""The plain, slow implementation of format and sampling arithmetic, with which others are compared."""

from dsrt_format.reference.order import augment_seed, rows
from dsrt_format.reference.plan import plan
from dsrt_format.reference.reader import read, read_sample
from dsrt_format.reference.writer import write

__all__ = ["augment_seed", "plan", "read", "read_sample", "rows", "write"]
