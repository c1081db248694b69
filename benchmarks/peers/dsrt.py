"""DSRT: one cache of one field, with checksums and digests written and verified, as always."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import dsrt_native
from benchmarks.peer import About, Cannot, Numbers, Row, Source, Transform
from benchmarks.workload import LEVEL, Batch, Packed, Workload
from dsrt_format import Dense, Ragged, Zstd
from dsrt_native import Cache, CacheWriter, Loader, Population, RaggedArray

ABOUT = About(
    "dsrt-native",
    "`Population.gather`; `Loader(order='permuted')`, all else as it is by default; every record's "
    "checksum is verified at every read",
    "`CacheWriter.append` and `append_batch`, `build` with workers, all else as it is by default: "
    "checksums of records, BLAKE3 of files, everything synced before it is published",
)
SWEEP: dict[str, list[dict[str, Any]]] = {}


def field(workload: Workload) -> Dense | Ragged:
    """What it calls the workload."""
    codec: Literal["raw"] | Zstd = "raw"
    if workload.codec != "raw":
        codec = Zstd(LEVEL, dictionary=workload.dictionary if workload.codec == "zstd-dict" else None)
    if workload.ragged:
        return Ragged(workload.dtype, codec=codec)
    return Dense(workload.dtype, workload.shape, codec=codec)


def write(workload: Workload, samples: Iterable[npt.NDArray[np.generic]], folder: Path) -> None:
    """One `append` a sample."""
    with CacheWriter(folder / "samples", {"x": field(workload)}) as writer:
        for sample in samples:
            writer.append({"x": sample})


def write_batches(workload: Workload, batches: Iterable[Batch], folder: Path) -> None:
    """One `append_batch` a batch."""
    with CacheWriter(folder / "samples", {"x": field(workload)}) as writer:
        for batch in batches:
            x = RaggedArray(batch.values, batch.offsets) if isinstance(batch, Packed) else batch
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


def metadata(folder: Path) -> dict[str, list[Any]]:
    """The table of the cache."""
    columns: dict[str, list[Any]] = Cache.open(folder / "samples").metadata.to_pydict()
    return columns


def open(workload: Workload, folder: Path) -> Population:
    """All rows of the cache."""
    return Population([Cache.open(folder / "samples")])


def _viewed(batch: dict[str, Any]) -> Batch:
    x: npt.NDArray[np.generic] | RaggedArray = batch["x"]
    return Packed(x.values, x.offsets) if isinstance(x, RaggedArray) else x


def gather(population: Population, numbers: Numbers) -> Batch:
    """Its one call for many records."""
    return _viewed(population.gather(numbers, ["x"]))


def loop(
    population: Population, batch: int, *, seed: int, transform: Transform | None = None
) -> Iterator[Batch]:
    """Its loader."""
    with Loader(population, batch, order="permuted", seed=seed, fields=["x"]) as loader:
        for step in loader.steps():
            yield _viewed(step) if transform is None else transform(_viewed(step))


def draw(
    order: str, rows: int, batch: int, *, weights: npt.NDArray[np.float64] | None = None, seed: int = 0
) -> Callable[[], Numbers]:
    """It has none apart from its loader."""
    raise Cannot("no sampler apart from the loader")
