"""For systems that store bytes: samples as such, and many of them as a batch again.

What bytes do not say is kept beside the store: the shapes of samples that differ in more than their length.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.peer import Array
from benchmarks.workload import Batch, Joined, Packed, Workload

ROWS_AT_ONCE = 4096

_SHAPES = "shapes.npy"

_AT_ONCE = 4 << 20

_LARGE = 4 << 20
"""Bytes: from here on NumPy asks the kernel for huge pages."""

Shapes = npt.NDArray[np.int64]
Item = TypeVar("Item")


def encoded(workload: Workload, samples: Iterable[Array], folder: Path) -> Iterator[bytes]:
    """The bytes of every sample; at the end their shapes are kept, if there is need."""
    found = []
    for sample in samples:
        if workload.ragged and sample.ndim > 1:
            found.append(sample.shape)
        yield sample.tobytes()
    if found:
        keep_shapes(folder, np.array(found, np.int64))


def keep_shapes(folder: Path, shapes: Shapes) -> None:
    """Beside what was stored: of every sample, int64[samples, ndim]."""
    np.save(folder / _SHAPES, shapes)


def shapes(folder: Path) -> Shapes | None:
    """What was kept: int64[samples, ndim], or None if lengths say all."""
    path = folder / _SHAPES
    return np.load(path) if path.exists() else None


def several(items: Iterable[Item], count: int) -> Iterator[list[Item]]:
    """The items in order, so many at a time."""
    each = iter(items)
    while some := list(islice(each, count)):
        yield some


def chunks(workload: Workload, samples: Iterable[Array], count: int | None = None) -> Iterator[Joined]:
    """The samples in order, so many in one piece, or 4 MiB of them."""
    for chunk in several(samples, count or workload.count(_AT_ONCE)):
        if not workload.ragged:
            yield np.stack(chunk)
            continue
        offsets = np.cumsum([0, *(sample.size for sample in chunk)], dtype=np.int64)
        if workload.ndim == 1:
            yield Packed(np.concatenate(chunk), offsets)
        else:
            shapes = np.array([sample.shape for sample in chunk], np.int64)
            yield Packed(np.concatenate([sample.reshape(-1) for sample in chunk]), offsets, shapes)


def one(workload: Workload, record: bytes | memoryview) -> Array:
    """The sample that a record is, a view of it; where shapes are kept apart, a vector."""
    values = np.frombuffer(record, workload.dtype)
    return values if workload.ragged else values.reshape(workload.shape)


def joined(workload: Workload, records: Sequence[bytes | memoryview], shapes: Shapes | None = None) -> Batch:
    """The batch of these records, which have these shapes: one copy, but none to make a list."""
    if workload.form == "list":
        vectors = [np.frombuffer(record, workload.dtype) for record in records]
        if shapes is None:
            return vectors
        return [vector.reshape(shape) for vector, shape in zip(vectors, shapes.tolist(), strict=True)]
    values = _concatenated(records).view(workload.dtype)
    if not workload.ragged:
        return values.reshape(len(records), *workload.shape)
    sizes = np.fromiter(map(len, records), np.int64, len(records)) // values.itemsize
    return Packed(values, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), shapes)


def _concatenated(records: Sequence[bytes | memoryview]) -> npt.NDArray[np.uint8]:
    """Their bytes in memory that can be written to: by what is faster, for the size of them all."""
    size = sum(map(len, records))
    if size < _LARGE:
        return np.frombuffer(bytearray().join(records), np.uint8)
    # Of a block as large as this each page is new, and those of a bytearray are small.
    whole = np.empty(size, np.uint8)
    rest = whole.data
    for record in records:
        rest[: len(record)] = record
        rest = rest[len(record) :]
    return whole
