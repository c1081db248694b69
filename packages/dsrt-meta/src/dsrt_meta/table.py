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

        Raises:
            ValueError: There are more rows, here or in the cache, than Polars counts.
        """
        import polars as pl

        n = len(population)
        if max(n, len(self._cache)) > (limit := _most_rows()):
            raise ValueError(
                f"the cache at {self._cache.path} has {len(self._cache):,} samples, this dataset of it has "
                f"{n:,} rows, and Polars counts at most {limit:,}; install it with indexes of 64 bits, "
                "polars[rt64] (polars-u64-idx of older versions), or choose rows by a Population"
            )
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


def _most_rows() -> int:
    """How many rows Polars can count as it is installed; beyond them it panics."""
    import polars as pl

    return 2**32 - 1 if pl.get_index_type() == pl.UInt32 else 2**64 - 1
