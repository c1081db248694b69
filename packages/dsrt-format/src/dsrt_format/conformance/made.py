"""Vectors that cannot be shipped, made when they are needed: too large, or no plain files."""

from collections.abc import Callable
from pathlib import Path

from dsrt_format.conformance.expectation import Expected
from dsrt_format.conformance.made_files import FILES
from dsrt_format.conformance.made_large import LARGE

__all__ = ["RECIPES"]

RECIPES: dict[str, tuple[str, Callable[[Path], Expected]]] = {**FILES, **LARGE}
"""By name what a vector is, and what makes it at a free path and returns what must come out of it."""
