"""litdata: chunks of samples, mapped; its loader shuffles the chunks and the samples in each."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import litdata.helpers
from litdata.streaming.cache import Cache

from benchmarks import records, streams
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source, Transform
from benchmarks.workload import LEVEL, Batch, Workload

ABOUT = About(
    "litdata",
    "`StreamingDataset` of a local folder, which it maps; `dataset[number]` in a loop; its "
    "`StreamingDataLoader`, shuffled; a sample is bytes, which are joined; no checksums",
    "`Cache`, which `optimize` writes with and which holds a chunk, 64 MiB unless the layout says otherwise, "
    "until it is full; a sample is bytes, one whose shape differs an array; workers by `optimize`, forked, "
    "in order; no checksums, no digests, no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    **{work: [{"mib": 8}, {"mib": 64}, {"mib": 64, "frames": "sample"}] for work in ("write", "layout")},
    "loop": [{}, {"batch_decode": 0}, {"workers": 1}, {"workers": 2}],
    "workers": [{}, {"workers": 1}, {"workers": 2}, {"workers": 4}],
}

# Else every dataset asks the package index for a newer version.
litdata.helpers._LITDATA_DISABLE_VERSION_CHECK = 1


class Opened(NamedTuple):
    """A dataset; the loop opens another that shuffles."""

    workload: Workload
    folder: Path
    dataset: Any


def write(
    workload: Workload, samples: Iterable[Array], folder: Path, mib: int = 64, frames: str = "batch"
) -> None:
    """Chunks of so many MiB; zstd of each sample or of 256 together."""
    if workload.codec == "zstd-dict":
        raise Cannot("no dictionaries for zstd")
    if workload.codec == "raw" and frames == "sample":
        raise Cannot("no frames without zstd")
    codec = {} if workload.codec == "raw" else {"compression": f"zstd:{LEVEL}", "compression_level": frames}
    cache = Cache(str(folder), chunk_bytes=mib << 20, **codec)
    shaped = workload.ragged and workload.ndim > 1
    for number, sample in enumerate(samples):
        cache[number] = sample if shaped else sample.tobytes()
    cache.done()
    cache.merge()


def open(workload: Workload, folder: Path) -> Opened:
    """Open the folder in place. Unless told otherwise it decodes 256 neighbours of each sample, too."""
    return Opened(workload, folder, litdata.StreamingDataset(str(folder), batch_decode=0))


def gather(handle: Opened, numbers: Numbers) -> Batch:
    """One item after another: it has no call for many."""
    found = [handle.dataset[number] for number in numbers.tolist()]
    if isinstance(found[0], dict):
        found = [row["x"] for row in found]
    return streams.joined(handle.workload, found)


def loop(
    handle: Opened,
    batch: int,
    *,
    seed: int,
    transform: Transform | None = None,
    workers: int = 0,
    batch_decode: int | str = "auto",
) -> Iterator[Batch]:
    """Its loader, epoch after epoch."""
    dataset = litdata.StreamingDataset(
        str(handle.folder), shuffle=True, seed=seed, drop_last=True, batch_decode=batch_decode
    )
    return streams.epochs(
        litdata.StreamingDataLoader,
        dataset,
        handle.workload,
        batch,
        content=_itself,
        transform=transform,
        workers=workers,
    )


def samples(handle: Opened, *, seed: int, shuffled: bool) -> Iterator[Array]:
    """Its dataset, epoch after epoch."""
    dataset = litdata.StreamingDataset(str(handle.folder), shuffle=shuffled, seed=seed)
    while True:
        for sample in dataset:
            yield records.one(handle.workload, sample)


def _itself(sample: Any) -> Any:
    return sample


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """A sample is a dict, metadata in it."""
    cache = Cache(str(folder), chunk_bytes=64 << 20)
    for number, (sample, metadata) in enumerate(rows):
        cache[number] = {"x": sample.tobytes(), **metadata}
    cache.done()
    cache.merge()


def metadata(folder: Path) -> Columns:
    """Those of each sample, in order."""
    rows = [(row["number"], row["label"]) for row in litdata.StreamingDataset(str(folder))]
    return {"number": [number for number, _ in rows], "label": [label for _, label in rows]}


def _sample(source: Source, number: int) -> bytes:
    return source[number].tobytes()


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """`optimize`, samples in order; without processes, which it always has, what it writes with."""
    if not workers:
        write(workload, map(source.__getitem__, range(len(source))), folder)
        return
    litdata.optimize(
        partial(_sample, source),
        list(range(len(source))),
        str(folder),
        chunk_bytes=64 << 20,
        num_workers=workers,
        keep_data_ordered=True,
        start_method="fork",
        verbose=False,
    )
