"""HDF5 by h5py: a contiguous dataset or a chunk each sample; samples that differ are slices of one vector."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import hdf5plugin
import numpy as np

from benchmarks import loops, pool, records
from benchmarks.loops import one_by_one
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source
from benchmarks.workload import LEVEL, Batch, Joined, Packed, Workload

ABOUT = About(
    "h5py hdf5plugin",
    "`DatasetID.read` of a hyperslab each sample into the batch, one selection of all samples, or "
    "`read_direct_chunk`; it has no loader: permutations and that, alone or in torch's DataLoader; its lock "
    "makes threads useless; single samples by `dataset[number]`; no checksums",
    "one dataset, contiguous or in chunks, assigned by 4 MiB or a batch; zstd by hdf5plugin's filter; "
    "no checksums, no digests, no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    "layout": [{"chunks": "none"}, {"chunks": "sample"}, {"chunks": "64 KiB"}],
    "open": [{"by": "hyperslabs"}, {"by": "selection"}, {"by": "chunks"}],
    "loop": [{}, {"workers": 1}, {"workers": 2}],
    "workers": [{}, {"workers": 1}, {"workers": 2}, {"workers": 4}],
}
CHUNK = 64 << 10


class Opened(NamedTuple):
    """A dataset of samples, or of all their elements, each from `offsets` on."""

    workload: Workload
    folder: Path
    data: Any
    offsets: Numbers
    shapes: Numbers | None
    by: str


def _chunk_shape(workload: Workload, chunks: str) -> tuple[int, ...] | None:
    if chunks == "none":
        if workload.codec != "raw":
            raise Cannot("only chunks are compressed")
        return None
    if (chunks == "sample") == workload.ragged:
        raise Cannot("chunks have one size" if workload.ragged else "several samples a chunk are no use")
    return (CHUNK // np.dtype(workload.dtype).itemsize,) if workload.ragged else (1, *workload.shape)


def write(workload: Workload, samples: Iterable[Array], folder: Path, chunks: str = "") -> None:
    """Whatever the chunks, they are written by slices of many samples."""
    write_batches(workload, records.chunks(workload, samples), folder, chunks)


def write_batches(workload: Workload, batches: Iterable[Joined], folder: Path, chunks: str = "") -> None:
    """The same, a slice for each."""
    if workload.codec == "zstd-dict":
        raise Cannot("no dictionaries for zstd")
    fitting = "none" if workload.codec == "raw" else "64 KiB" if workload.ragged else "sample"
    chunk = _chunk_shape(workload, chunks or fitting)
    shape = (int(workload.offsets[-1]),) if workload.ragged else (workload.samples, *workload.shape)
    codec = {} if workload.codec == "raw" else hdf5plugin.Zstd(clevel=LEVEL)
    first = 0
    shapes: list[Numbers] = []
    with h5py.File(folder / "samples.h5", "w", libver="latest") as file:
        data = file.create_dataset("x", shape, workload.dtype, chunks=chunk, **codec)
        for batch in batches:
            values = batch.values if isinstance(batch, Packed) else batch
            data[first : first + len(values)] = values
            first += len(values)
            if isinstance(batch, Packed):
                shapes.append(np.diff(batch.offsets)[:, None] if batch.shapes is None else batch.shapes)
        if shapes:
            file["shapes"] = np.concatenate(shapes)


def open(workload: Workload, folder: Path, by: str = "hyperslabs") -> Opened:
    """Open the file; the shapes are in memory from then on."""
    # Without a cache of chunks, where each is one sample and none is soon read again.
    file = h5py.File(folder / "samples.h5", "r", libver="latest", rdcc_nbytes=None if workload.ragged else 0)
    data, shapes = file["x"], file["shapes"][:] if workload.ragged else None
    if by == "selection" and workload.ragged:
        raise Cannot("a selection has samples of one size")
    if by == "chunks" and (workload.ragged or workload.codec != "raw" or data.chunks is None):
        raise Cannot("not chunks of one sample as it is")
    sizes = [0] if shapes is None else shapes.prod(axis=1)
    return Opened(workload, folder, data, np.concatenate([[0], np.cumsum(sizes)]), shapes, by)


def gather(handle: Opened, numbers: Numbers) -> Batch:
    """As `by` says."""
    workload, data = handle.workload, handle.data
    if workload.ragged:
        return _packed(handle, numbers)
    if handle.by == "selection":
        # They have to ascend.
        each, which = np.unique(numbers, return_inverse=True)
        selected: Array = data[each][which]
        return selected
    found = np.empty((len(numbers), *workload.shape), workload.dtype)
    corner, rest = (0,) * len(workload.shape), workload.shape
    if handle.by == "chunks":
        content = found.reshape(len(numbers), -1).view(np.uint8)
        for place, number in enumerate(numbers.tolist()):
            data.id.read_direct_chunk((number, *corner), out=content[place])
        return found
    space, one = data.id.get_space(), h5py.h5s.create_simple((1, *rest))
    for place, number in enumerate(numbers.tolist()):
        space.select_hyperslab((number, *corner), (1, *rest))
        data.id.read(one, space, found[place : place + 1])
    return found


def _packed(handle: Opened, numbers: Numbers) -> Batch:
    starts, ends = handle.offsets[numbers], handle.offsets[numbers + 1]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)])
    values = np.empty(int(offsets[-1]), handle.workload.dtype)
    space = handle.data.id.get_space()
    for start, end, place in zip(starts.tolist(), ends.tolist(), offsets.tolist(), strict=False):
        space.select_hyperslab((start,), (end - start,))
        part = values[place : place + end - start]
        handle.data.id.read(h5py.h5s.create_simple(part.shape), space, part)
    shapes = handle.shapes[numbers] if handle.workload.ndim > 1 and handle.shapes is not None else None
    packed = Packed(values, offsets, shapes)
    return list(packed) if handle.workload.form == "list" else packed


def loop(handle: Opened, batch: int, **config: Any) -> Iterator[Batch]:
    """It brings none."""
    return loops.stored("hdf5", handle, batch, opened={"by": handle.by}, **config)


def samples(handle: Opened, *, seed: int, shuffled: bool) -> Iterator[Array]:
    """`dataset[number]`, or the slice of all elements that a ragged one is."""
    if handle.by != "hyperslabs":
        raise Cannot(f"by {handle.by} is for batches")
    workload, data, offsets = handle.workload, handle.data, handle.offsets.tolist()
    for number in one_by_one(workload.samples, seed, shuffled):
        yield data[offsets[number] : offsets[number + 1]] if workload.ragged else data[number]


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """A dataset for each metadata beside the samples, assigned in slices of some thousand rows."""
    count, first = workload.samples, 0
    with h5py.File(folder / "samples.h5", "w", libver="latest") as file:
        samples = file.create_dataset("x", (count, *workload.shape), workload.dtype)
        numbers = file.create_dataset("number", count, np.int64)
        labels = file.create_dataset("label", count, h5py.string_dtype())
        for chunk in records.several(rows, records.ROWS_AT_ONCE):
            part = slice(first, first + len(chunk))
            samples[part] = np.stack([sample for sample, _ in chunk])
            numbers[part] = [metadata["number"] for _, metadata in chunk]
            labels[part] = [metadata["label"] for _, metadata in chunk]
            first = part.stop


def metadata(folder: Path) -> Columns:
    """The other datasets."""
    with h5py.File(folder / "samples.h5", "r") as file:
        return {"number": file["number"][:], "label": file["label"].asstr()[:]}


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are a pool by hand."""
    write(workload, pool.samples(source, workers), folder)
