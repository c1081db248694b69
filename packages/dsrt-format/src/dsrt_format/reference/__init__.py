"""The plain implementation of the format and of the sampling arithmetic: slow, and right by definition."""

from dsrt_format.reference.order import augment_seed, rows
from dsrt_format.reference.plan import plan

__all__ = ["augment_seed", "plan", "rows"]
