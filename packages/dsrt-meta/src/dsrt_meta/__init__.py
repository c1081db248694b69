"""Choose and re-weight the samples of a DSRT cache with Polars, without touching the payloads.

`Dataset` is a cache opened together with its active rows, their weights and extra columns. Every edit returns
a new one.
"""

from dsrt_meta.dataset import Dataset

__all__ = ["Dataset"]
