"""The validator: reads a cache and returns every problem, instead of raising the first."""

from dsrt_format.validate.cache import validate
from dsrt_format.validate.problem import MAX_PROBLEMS_PER_RULE, Level, Problem

__all__ = ["MAX_PROBLEMS_PER_RULE", "Level", "Problem", "validate"]
