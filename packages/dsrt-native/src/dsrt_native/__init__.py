"""The DSRT engine: Rust inside, NumPy out.

Needs neither torch nor Polars, and importing it starts no thread.
"""

from dsrt_native.batch import RaggedArray

__all__ = ["RaggedArray"]
