"""WebDataset: shards of tar, read from end to end; shards are shuffled, and samples in a buffer."""

import random
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import webdataset

from benchmarks import loops, pool, records, streams
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source, Transform
from benchmarks.workload import Batch, Workload

ABOUT = About(
    "webdataset",
    "`WebDataset` with its shards shuffled, `shuffle` of 1,000 samples, `batched`; `WebLoader` for workers; "
    "a sample is bytes, which are joined; no checksums",
    "`ShardWriter`, 16 shards; a sample is bytes, one whose shape differs is npy; no checksums, no digests, "
    "no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    "loop": [{}, {"workers": 1}, {"workers": 2}],
    "workers": [{}, {"workers": 1}, {"workers": 2}, {"workers": 4}],
}
SHARDS, BUFFER = 16, 1000
MOST_ROWS = 100_000


class Opened(NamedTuple):
    """The shards."""

    workload: Workload
    shards: list[str]


def write(workload: Workload, samples: Iterable[Array], folder: Path) -> None:
    """Bytes, or npy where a shape has to be kept."""
    if workload.codec != "raw":
        raise Cannot("no zstd")
    shaped = _shaped(workload)
    with _shards(workload, folder) as writer:
        for number, sample in enumerate(samples):
            content = {"npy": sample} if shaped else {"bin": sample.tobytes()}
            writer.write({"__key__": f"{number:09}", **content})


def _shaped(workload: Workload) -> bool:
    return workload.ragged and workload.ndim > 1  # samples are npy, and only these are decoded


def _shards(workload: Workload, folder: Path) -> Any:
    pattern, most = str(folder / "%04d.tar"), -(-workload.samples // SHARDS)
    return webdataset.ShardWriter(pattern, maxcount=most, maxsize=1 << 40, verbose=0)


def open(workload: Workload, folder: Path) -> Opened:
    """Nothing is read yet."""
    return Opened(workload, sorted(map(str, folder.glob("*.tar"))))


def gather(handle: Opened, numbers: Numbers) -> Batch:
    """There is no index."""
    raise Cannot("streams only")


def _content(sample: dict[str, Any]) -> Any:
    return sample["npy"] if "npy" in sample else sample["bin"]


def _pipeline(handle: Opened, seed: int, shuffled: bool = True) -> Any:
    samples = webdataset.WebDataset(handle.shards, shardshuffle=SHARDS if shuffled else False, seed=seed)
    if shuffled:
        samples = samples.shuffle(BUFFER, rng=random.Random(seed))
    return samples.decode() if _shaped(handle.workload) else samples


def loop(
    handle: Opened, batch: int, *, seed: int, transform: Transform | None = None, workers: int = 0
) -> Iterator[Batch]:
    """Its pipeline, again and again; what is no whole batch at the end of an epoch is left out."""
    collate = partial(streams.sent, handle.workload, transform, _content)
    pipeline = _pipeline(handle, seed).batched(batch, collation_fn=collate, partial=False).repeat()
    # Forked from a server without threads, as with the others' workers.
    method = loops.server() if workers else None
    loader = webdataset.WebLoader(
        pipeline, batch_size=None, num_workers=workers, multiprocessing_context=method
    )
    for found in loader:
        yield loops.arrived(found, handle.workload)


def samples(handle: Opened, *, seed: int, shuffled: bool) -> Iterator[Array]:
    """Its pipeline without `batched`."""
    for sample in _pipeline(handle, seed, shuffled).repeat():
        content = _content(sample)
        yield content if isinstance(content, np.ndarray) else records.one(handle.workload, content)


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """Metadata are a member of their own, JSON."""
    if workload.samples > MOST_ROWS:
        raise Cannot(f"of more than {MOST_ROWS:,} rows, two members of tar each take minutes to write")
    with _shards(workload, folder) as writer:
        for number, (sample, metadata) in enumerate(rows):
            writer.write({"__key__": f"{number:09}", "bin": sample.tobytes(), "json": metadata})


def metadata(folder: Path) -> Columns:
    """Those of each sample, in order."""
    shards = sorted(map(str, folder.glob("*.tar")))
    rows = [sample["json"] for sample in webdataset.WebDataset(shards, shardshuffle=False).decode()]
    return {name: [row[name] for row in rows] for name in ("number", "label")}


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are a pool by hand."""
    write(workload, pool.samples(source, workers), folder)
