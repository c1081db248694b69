"""Which digits are trained on, and how often: Polars over the metadata, no pixel is touched."""

from pathlib import Path

import polars as pl

from dsrt_meta import Dataset


def training(cache: Path) -> Dataset:
    """Training digits: all of 0 to 4, of 5 to 9 only the bold ones; every class is drawn equally often.

    The filter leaves some classes three times as many samples as others; the weights make up for it.
    """
    return (
        Dataset.open(cache)
        .filter(pl.col("split") == "train", (pl.col("label") < 5) | (pl.col("ink") > 5))
        .with_weights(1 / pl.len().over("label"))
    )


def held_out(cache: Path) -> Dataset:
    """Digits that no training sees."""
    return Dataset.open(cache).filter(pl.col("split") == "test")
