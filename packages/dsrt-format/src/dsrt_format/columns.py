"""The words for types of metadata columns, as in ``{"label": "int32", "taken": "date"}``."""

__all__ = ["COLUMN_TYPES", "NUMBERS", "TEMPORAL_UNITS"]

NUMBERS: tuple[str, ...] = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
)
"""The numeric column types; a word is also the NumPy name of the dtype."""

TEMPORAL_UNITS: tuple[str, ...] = ("ms", "us", "ns")

COLUMN_TYPES: tuple[str, ...] = (
    "bool",
    *NUMBERS,
    "string",
    "binary",
    "date",
    *(f"timestamp[{unit}]" for unit in TEMPORAL_UNITS),
    *(f"timestamp[{unit}, UTC]" for unit in TEMPORAL_UNITS),
    *(f"duration[{unit}]" for unit in TEMPORAL_UNITS),
)
"""Every type a metadata column can have. All are nullable; a column ``weight`` is float64 without nulls."""
