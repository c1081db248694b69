"""WebDataset: shards of tar, read from end to end; shards are shuffled, and samples in a buffer."""

import random
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import webdataset

from benchmarks import loops, records, streams
from benchmarks.peer import About, Array, Cannot, Numbers, Transform
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


class Opened(NamedTuple):
    """The shards."""

    workload: Workload
    shards: list[str]


def write(workload: Workload, samples: Iterable[Array], folder: Path) -> None:
    """Bytes, or npy where a shape has to be kept."""
    if workload.codec != "raw":
        raise Cannot("no zstd")
    shaped = workload.ragged and workload.ndim > 1
    pattern, most = str(folder / "%04d.tar"), -(-workload.samples // SHARDS)
    with webdataset.ShardWriter(pattern, maxcount=most, maxsize=1 << 40, verbose=0) as writer:
        for number, sample in enumerate(samples):
            content = {"npy": sample} if shaped else {"bin": sample.tobytes()}
            writer.write({"__key__": f"{number:09}", **content})


def open(workload: Workload, folder: Path) -> Opened:
    """Nothing is read yet."""
    return Opened(workload, sorted(map(str, folder.glob("*.tar"))))


def gather(handle: Opened, numbers: Numbers) -> Batch:
    """There is no index."""
    raise Cannot("streams only")


def _content(sample: dict[str, Any]) -> Any:
    return sample["npy"] if "npy" in sample else sample["bin"]


def _pipeline(handle: Opened, seed: int, shuffled: bool = True) -> Any:
    if not shuffled:
        return webdataset.WebDataset(handle.shards, shardshuffle=False).decode()
    shards = webdataset.WebDataset(handle.shards, shardshuffle=SHARDS, seed=seed)
    return shards.shuffle(BUFFER, rng=random.Random(seed)).decode()


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
        yield records.one(handle.workload, sample["bin"])
