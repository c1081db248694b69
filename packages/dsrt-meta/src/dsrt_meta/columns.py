"""Which names and types an extra column can have, and what to do about the others."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from dsrt_format import SchemaError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_names", "check_types"]


def check_names(names: list[str], *, stored: Container[str], fields: Container[str]) -> None:
    """Refuse extra columns that would leave open what is delivered under their name.

    Args:
        names: The columns to be added or replaced.
        stored: The names of the metadata columns in the cache.
        fields: The names of the payload fields.

    Raises:
        SchemaError: A name is taken.
    """
    for name in names:
        if "\0" in name:  # Polars would abort when it hands the column over
            raise SchemaError(f"with_columns: {name!r} holds U+0000, which no name of a column can")
        if name == "weight":
            raise SchemaError("with_columns: weights are set by with_weights(...), which checks them")
        if name in ("cache_id", "sample_id"):
            raise SchemaError(f"with_columns: {name} says which sample a row is and cannot be replaced")
        owner = (
            "a stored metadata column" if name in stored else "a payload field" if name in fields else None
        )
        if owner is not None:
            raise SchemaError(
                f"with_columns: {name!r} is the name of {owner}, and a cache never changes; use another "
                f"name, for example .alias({name + '_new'!r})"
            )


def check_types(frame: pl.DataFrame) -> None:
    """Refuse extra columns of types that cannot travel with samples.

    Raises:
        SchemaError: A column is not bool, int8 to int64, uint8 to uint64, float32, float64, string, binary,
            date, datetime (without zone or in UTC) or duration.
    """
    for name, dtype in frame.schema.items():
        if (advice := _advice(dtype)) is not None:
            raise SchemaError(
                f"with_columns: column {name!r} is {dtype}, which cannot be delivered; {advice}"
            )


def _advice(dtype: pl.DataType) -> str | None:
    import polars as pl

    if isinstance(dtype, pl.Datetime):
        return None if dtype.time_zone in (None, "UTC") else "use .dt.convert_time_zone('UTC')"
    advice = {
        pl.Int128: "use .cast(pl.Int64)",
        pl.Decimal: "use .cast(pl.Float64), or an integer in a smaller unit",
        pl.Categorical: "use .cast(pl.String)",
        pl.Enum: "use .cast(pl.String)",
        pl.Time: "use .cast(pl.Duration('us'))",
        pl.Struct: "take its parts with .struct.field(...)",
        pl.List: "metadata has one value a sample; store arrays as a payload field",
        pl.Array: "metadata has one value a sample; store arrays as a payload field",
    }
    base = dtype.base_type()
    if base in advice:
        return advice[base]
    if dtype.is_integer() or base in (
        pl.Boolean,
        pl.Float32,
        pl.Float64,
        pl.String,
        pl.Binary,
        pl.Date,
        pl.Duration,
    ):
        return None
    return "cast it to one that can, for example with .cast(pl.Float32)"
