"""Samples as one column of Arrow, and back without a copy: what the systems that store Arrow share.

A sample is a value of a binary column, because Arrow's kernels copy those whole; a list column they would
copy element by element.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.peer import Columns, Row
from benchmarks.records import ROWS_AT_ONCE, Shapes, keep_shapes, several
from benchmarks.workload import Batch, Joined, Packed, Workload

NAME = "x"


def schema(workload: Workload, metadata: dict[str, str] | None = None) -> Any:
    """A table of that column alone."""
    size = int(np.prod(workload.shape)) * np.dtype(workload.dtype).itemsize
    kind = pa.large_binary() if workload.ragged else pa.binary(size)
    return pa.schema([pa.field(NAME, kind, nullable=False, metadata=metadata)])


def record_batches(batches: Iterable[Joined], folder: Path, schema: Any) -> Iterator[Any]:
    """A record batch for each of these, without a copy; shapes are kept beside them."""
    shapes: list[Shapes] = []
    for batch in batches:
        if isinstance(batch, Packed):
            ends = pa.py_buffer(batch.offsets * batch.values.itemsize)
            count, buffers = len(batch.offsets) - 1, [None, ends, pa.py_buffer(batch.values)]
            if batch.shapes is not None:
                shapes.append(batch.shapes)
        else:
            count, buffers = len(batch), [None, pa.py_buffer(batch)]
        column = pa.Array.from_buffers(schema.field(NAME).type, count, buffers)
        yield pa.record_batch([column], schema=schema)
    if shapes:
        keep_shapes(folder, np.concatenate(shapes))


def row_schema(workload: Workload) -> Any:
    """A table of samples of one size and their metadata."""
    metadata = (
        pa.field("number", pa.int64(), nullable=False),
        pa.field("label", pa.string(), nullable=False),
    )
    return pa.schema([*schema(workload), *metadata])


def row_batches(rows: Iterable[Row], schema: Any) -> Iterator[Any]:
    """The rows in order, some thousand in each record batch."""
    for chunk in several(rows, ROWS_AT_ONCE):
        buffers = [None, pa.py_buffer(np.stack([sample for sample, _ in chunk]))]
        samples = pa.Array.from_buffers(schema.field(NAME).type, len(chunk), buffers)
        metadata = (pa.array([row[name] for _, row in chunk]) for name in ("number", "label"))
        yield pa.record_batch([samples, *metadata], schema=schema)


def named(table: Any, *names: str) -> Columns:
    """Some columns of a table."""
    return {name: table[name] for name in names}


def whole(column: Any, *, owned: bool = False) -> Any:
    """One array of a chunked one, in memory of its own; `owned` if that of the chunks is no mapped file."""
    if column.num_chunks > 1:
        return column.combine_chunks()
    return column.chunk(0) if owned else column.chunk(0).take(pa.array(np.arange(len(column))))


def batch_of(workload: Workload, array: Any, shapes: Shapes | None = None) -> Batch:
    """The values of an array, which have these shapes, as a batch that views them."""
    dtype = np.dtype(workload.dtype)
    if not workload.ragged:
        size = array.type.byte_width
        values = np.frombuffer(array.buffers()[1], np.uint8, len(array) * size, array.offset * size)
        return values.view(dtype).reshape(len(array), *workload.shape)
    wide = np.dtype(np.int64 if pa.types.is_large_binary(array.type) else np.int32)
    _, ends, content = array.buffers()
    offsets = np.frombuffer(ends, wide, len(array) + 1, array.offset * wide.itemsize).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    values = np.frombuffer(content, np.uint8, last - first, first).view(dtype)
    packed = Packed(values, (offsets - first) // dtype.itemsize, shapes)
    return list(packed) if workload.form == "list" else packed
