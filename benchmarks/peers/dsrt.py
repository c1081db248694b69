"""DSRT: one cache of one field, with checksums and digests written and verified, as always."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import dsrt_native
from benchmarks.loops import one_by_one
from benchmarks.page_cache import PAGE
from benchmarks.peer import About, Cannot, Columns, Numbers, Row, Source, Transform
from benchmarks.workload import LEVEL, Batch, Joined, Packed, Workload
from dsrt_format import Dense, Ragged, Zstd
from dsrt_native import Cache, CacheWriter, Loader, Population, RaggedArray
from dsrt_native.order import Sampler

ABOUT = About(
    "dsrt-native",
    "`Population.gather`; `Loader(order='permuted')`, its threads as swept, its prefetch as it is by "
    "default, transforms on the consumer's thread; single samples by `cache[number]` or `for sample in "
    "cache`; every record's checksum is verified at every read; draws by `Sampler`, which the loader has "
    "inside",
    "`CacheWriter.append` and `append_batch`, `build` with workers, all else as it is by default: "
    "checksums of records, BLAKE3 of files, everything synced before it is published",
)
_HEADER, _CHECKSUM = 64, 4  # bytes, of a shard and of a record

SWEEP: dict[str, list[dict[str, Any]]] = {
    work: [{"threads": threads} for threads in (1, 2, 4)] for work in ("loop", "workers")
}


def field(workload: Workload) -> Dense | Ragged:
    """What it calls the workload."""
    codec: Literal["raw"] | Zstd = "raw"
    if workload.codec != "raw":
        codec = Zstd(LEVEL, dictionary=workload.dictionary if workload.codec == "zstd-dict" else None)
    if workload.ragged:
        return Ragged(workload.dtype, workload.ndim, codec=codec)
    return Dense(workload.dtype, workload.shape, codec=codec)


def write(workload: Workload, samples: Iterable[npt.NDArray[np.generic]], folder: Path) -> None:
    """One `append` a sample."""
    with CacheWriter(folder / "samples", {"x": field(workload)}) as writer:
        for sample in samples:
            writer.append({"x": sample})


def write_batches(workload: Workload, batches: Iterable[Joined], folder: Path) -> None:
    """One `append_batch` a batch."""
    with CacheWriter(folder / "samples", {"x": field(workload)}) as writer:
        for batch in batches:
            x = RaggedArray(batch.values, batch.offsets, batch.shapes) if isinstance(batch, Packed) else batch
            writer.append_batch({"x": x})


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """One `append` a sample, metadata in it."""
    columns = {"number": "int64", "label": "string"}
    with CacheWriter(folder / "samples", {"x": field(workload)}, columns) as writer:
        for sample, metadata in rows:
            writer.append({"x": sample, **metadata})


class _Source:
    name = "samples"
    metadata: Mapping[str, str] = MappingProxyType({})

    def __init__(self, workload: Workload, source: Source) -> None:
        self.fields = {"x": field(workload)}
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {"x": self.source[number]}


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Its `build`."""
    dsrt_native.build(_Source(workload, source), folder, workers=workers)


def metadata(folder: Path) -> Columns:
    """The table of the cache."""
    found = Cache.open(folder / "samples").metadata
    return {name: found[name] for name in ("number", "label")}


class Rows:
    """All rows of a cache in a folder, and what they are."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        self.population = Population([Cache.open(folder / "samples")])
        self.workload, self.folder = workload, folder

    def viewed(self, batch: dict[str, Any]) -> Batch:
        """What a batch holds."""
        x: npt.NDArray[np.generic] | RaggedArray = batch["x"]
        if not isinstance(x, RaggedArray):
            return x
        return x.to_list() if self.workload.form == "list" else Packed(x.values, x.offsets, x.shapes)


def open(workload: Workload, folder: Path) -> Rows:
    """Open the cache."""
    return Rows(workload, folder)


def gather(rows: Rows, numbers: Numbers) -> Batch:
    """Its one call for many records."""
    return rows.viewed(rows.population.gather(numbers, ["x"]))


def pages(rows: Rows, numbers: Numbers) -> int:
    """Of the files of raw dense samples: where records lie, and their checksums behind all of them."""
    if rows.workload.ragged or rows.workload.codec != "raw":
        raise Cannot("tells pages of raw dense samples alone")
    stride = rows.workload.bytes // rows.workload.samples
    counts = np.array(json.loads((rows.folder / "samples" / "manifest.json").read_text())["shards"])
    ends = counts.cumsum()
    shards = np.searchsorted(ends, numbers, "right")
    places = numbers - (ends - counts)[shards]
    records = _HEADER + places * stride
    checksums = _HEADER + counts[shards] * stride + places * _CHECKSUM
    held: set[tuple[int, int]] = set()
    for starts, size in ((records, stride), (checksums, _CHECKSUM)):
        for shard, start in zip(shards, starts, strict=True):
            held.update((int(shard), page) for page in range(start // PAGE, (start + size - 1) // PAGE + 1))
    return len(held)


def loop(
    rows: Rows,
    batch: int,
    *,
    seed: int,
    transform: Transform | None = None,
    threads: int | None = None,
) -> Iterator[Batch]:
    """Its loader; the transform runs on the thread that takes the batches."""
    with Loader(rows.population, batch, order="permuted", seed=seed, fields=["x"], threads=threads) as loader:
        for step in loader.steps():
            yield rows.viewed(step) if transform is None else transform(rows.viewed(step))


def samples(rows: Rows, *, seed: int, shuffled: bool) -> Iterator[npt.NDArray[np.generic]]:
    """`cache[number]` of permutations, or `for sample in cache`."""
    cache = Cache.open(rows.folder / "samples", fields=["x"])
    if shuffled:
        for number in one_by_one(rows.workload.samples, seed):
            yield cache[number]["x"]
    while True:
        for sample in cache:
            yield sample["x"]


def draw(
    order: str, rows: int, batch: int, *, weights: npt.NDArray[np.float64] | None = None, seed: int = 0
) -> Callable[[], Numbers]:
    """The rows at the next positions of its stream."""
    sampler, positions = Sampler(order, rows, seed, weights), count(0, batch)
    return lambda: sampler.rows(next(positions), batch)
