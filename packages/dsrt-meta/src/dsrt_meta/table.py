"""The metadata of a dataset as one Polars frame: identities, stored columns, weights, extra columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from dsrt_native import Cache, Population

__all__ = ["Table"]


class Table:
    """The stored metadata of a cache, mapped when first needed and shared by all datasets over it."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    @cached_property
    def stored(self) -> pl.DataFrame:
        """The stored columns but `weight`, one row per sample, not copied; none if the cache has none."""
        import polars as pl

        stream = self._cache._metadata_stream()
        # pl.read_ipc would copy every column, and check nothing.
        frame = pl.DataFrame() if stream is None else pl.DataFrame(stream)
        return frame.select(pl.exclude("weight"))

    def frame(self, population: Population, extra: pl.DataFrame) -> pl.DataFrame:
        """Return one row per row of `population`: cache_id, sample_id, stored columns, weight, extra columns.

        Args:
            population: Rows over the cache of this table.
            extra: Its extra columns: as many rows, or no columns.
        """
        import polars as pl

        n = len(population)
        rows = population._rows()
        stored = self.stored
        if rows is not None and stored.width:
            stored = stored.select(pl.all().gather(pl.Series(rows)))
        weights = population.weights
        return pl.DataFrame(
            [
                pl.repeat(self._cache.cache_id, n, dtype=pl.Int64, eager=True).alias("cache_id"),
                pl.int_range(n, eager=True).alias("sample_id")
                if rows is None
                else pl.Series("sample_id", rows),
                *stored.iter_columns(),
                pl.repeat(None, n, dtype=pl.Float64, eager=True).alias("weight")
                if weights is None
                else pl.Series("weight", weights),
                *extra.iter_columns(),
            ]
        )
