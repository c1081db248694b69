"""Columns of Arrow as bits, for adapters of readers that hand out tables. pyarrow is imported on use."""

from typing import TYPE_CHECKING

from dsrt_format.column_values import column_type, numpy_values

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column_bits"]


def column_bits(column: "pa.ChunkedArray") -> list[bytes | None]:
    """Return a column as `CacheReader.column` does, every NaN with its payload.

    Args:
        column: Of a type that metadata can have, strings in whichever of their layouts.
    """
    return [bits for chunk in column.chunks for bits in _chunk_bits(chunk)]


def _chunk_bits(chunk: "pa.Array") -> list[bytes | None]:
    kind = str(chunk.type)
    if "string" in kind or "binary" in kind:
        return [value.encode() if isinstance(value, str) else value for value in chunk.to_pylist()]
    word = column_type(chunk.type)
    values, valid = numpy_values(word, chunk)
    if word == "date":
        values = values.view("<i8").astype("<i4")
    size, stored = values.itemsize, values.tobytes()
    return [
        stored[row * size : (row + 1) * size] if valid is None or valid[row] else None
        for row in range(len(chunk))
    ]
