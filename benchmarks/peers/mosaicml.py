"""MosaicML streaming: shards of MDS, read from their local folder."""

from collections.abc import Iterable, Iterator
from functools import partial
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from streaming import MDSWriter, StreamingDataset
from streaming.base.util import merge_index
from torch.utils.data import DataLoader

from benchmarks import records, streams
from benchmarks.loops import one_by_one
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source, Transform
from benchmarks.workload import LEVEL, Batch, Workload

ABOUT = About(
    "mosaicml-streaming",
    "`StreamingDataset` of a local folder; `dataset[number]` in a loop; torch's DataLoader over it, shuffled "
    "by its default; single samples by `dataset[number]` or `for sample in dataset`; a sample is bytes, "
    "which are joined; compressed shards only to check them; no checksums",
    "`MDSWriter`, which holds a shard, 64 MiB unless the layout says otherwise, until it is full; a sample "
    "is bytes, one whose shape differs an ndarray; workers by a forked pool and `merge_index`; no checksums, "
    "no digests, no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    **{work: [{"mib": mib} for mib in (8, 64)] for work in ("write", "layout")},
    "loop": [{"workers": 1}, {"workers": 2}, {"workers": 4}, {}],
    "samples": [{"by": "number"}, {"by": "iteration"}],
    "workers": [{}, {"workers": 1}, {"workers": 2}, {"workers": 4}],
}


_content = itemgetter("x")


class Opened(NamedTuple):
    """A dataset; the loop opens another."""

    workload: Workload
    folder: Path
    dataset: Any


def write(workload: Workload, samples: Iterable[Array], folder: Path, mib: int = 64) -> None:
    """Shards of so many MiB."""
    if workload.codec == "zstd-dict":
        raise Cannot("no dictionaries for zstd")
    codec = None if workload.codec == "raw" else f"zstd:{LEVEL}"
    kind = f"ndarray:{workload.dtype}" if workload.ragged and workload.ndim > 1 else "bytes"
    shards: dict[str, Any] = {"out": str(folder), "compression": codec, "size_limit": mib << 20}
    with MDSWriter(columns={"x": kind}, **shards) as writer:
        for sample in samples:
            writer.write({"x": sample.tobytes() if kind == "bytes" else sample})


def _dataset(workload: Workload, folder: Path, seed: int, shuffled: bool = True) -> Any:
    return _local(folder, shuffle=shuffled, shuffle_seed=seed, batch_size=workload.batch)


def _local(folder: Path, **config: Any) -> Any:
    # It refuses a folder that another of its datasets has open, and so each gets a path of its own.
    own = Path(mkdtemp()) / "shards"
    own.symlink_to(folder)
    return StreamingDataset(local=str(own), **config)


def open(workload: Workload, folder: Path) -> Opened:
    """Open the folder in place."""
    return Opened(workload, folder, _dataset(workload, folder, 0))


def _refuse_compressed(workload: Workload) -> None:
    # Its timed reads would be of plain files. `samples` shows once what was written.
    if workload.codec != "raw":
        raise Cannot("decompresses whole shards into files before it reads")


def gather(handle: Opened, numbers: Numbers) -> Batch:
    """One item after another: it has no call for many."""
    _refuse_compressed(handle.workload)
    return streams.joined(handle.workload, [_content(handle.dataset[number]) for number in numbers.tolist()])


def loop(
    handle: Opened, batch: int, *, seed: int, transform: Transform | None = None, workers: int = 0
) -> Iterator[Batch]:
    """Torch's DataLoader, as it says itself, epoch after epoch."""
    _refuse_compressed(handle.workload)
    # A new one, as its workers cannot take over one that this process has iterated.
    dataset = _dataset(handle.workload, handle.folder, seed)
    return streams.epochs(
        DataLoader,
        dataset,
        handle.workload,
        batch,
        content=_content,
        transform=transform,
        workers=workers,
    )


def samples(handle: Opened, *, seed: int, shuffled: bool, by: str = "number") -> Iterator[Array]:
    """`dataset[number]`, which is much the faster, or its dataset, epoch after epoch."""
    if by == "number":
        for number in one_by_one(handle.workload.samples, seed, shuffled):
            yield records.one(handle.workload, _content(handle.dataset[number]))
    dataset = _dataset(handle.workload, handle.folder, seed, shuffled)
    while True:
        for sample in dataset:
            yield records.one(handle.workload, _content(sample))


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """Metadata are columns beside the sample."""
    columns = {"x": "bytes", "number": "int", "label": "str"}
    with MDSWriter(columns=columns, out=str(folder)) as writer:
        for sample, metadata in rows:
            writer.write({"x": sample.tobytes(), **metadata})


def metadata(folder: Path) -> Columns:
    """Those of each sample, in order."""
    dataset = _local(folder, shuffle=False, batch_size=1)
    rows = [dataset[number] for number in range(len(dataset))]
    return {name: [row[name] for row in rows] for name in ("number", "label")}


def _part(workload: Workload, source: Source, folder: Path, numbers: range) -> None:
    folder.mkdir()
    write(workload, map(source.__getitem__, numbers), folder)


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """As its guide has it: a pool writes parts in folders of their own, and `merge_index` joins them."""
    if not workers:
        write(workload, map(source.__getitem__, range(len(source))), folder)
        return
    step = -(-len(source) // workers)
    parts = [
        (folder / f"{first:09}", range(first, min(first + step, len(source))))
        for first in range(0, len(source), step)
    ]
    with get_context("fork").Pool(workers) as pool:
        pool.starmap(partial(_part, workload, source), parts)
    merge_index(str(folder), keep_local=True)
