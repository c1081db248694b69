"""Lance by pylance: `take` of a binary column."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lance
import pyarrow as pa

from benchmarks import columns, loops, pool, records
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source
from benchmarks.workload import LEVEL, Batch, Joined, Workload

ABOUT = About(
    "pylance",
    "`take` of a binary column; the loop is permutations and that, alone, with threads or in torch's "
    "DataLoader, as its own `SafeLanceDataset` does with Python's objects; single samples by `to_batches`; "
    "no checksums",
    "`write_dataset` of record batches of 4 MiB or as they come, without compression or with its zstd; no "
    "checksums, no digests, no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    **{work: [{"version": version} for version in ("2.0", "2.2")] for work in ("write", "layout")},
    "loop": [{}, {"threads": 1}, {"threads": 2}, {"workers": 1}, {"workers": 2}],
    "samples": [{"mib": 1}, {"mib": 4}],
    "workers": [{}, {"workers": 1}, {"workers": 2}, {"workers": 4}],
}


class Opened(NamedTuple):
    """A dataset."""

    workload: Workload
    folder: Path
    dataset: Any
    shapes: records.Shapes | None


def write(workload: Workload, samples: Iterable[Array], folder: Path, version: str = "2.2") -> None:
    """One file."""
    write_batches(workload, records.chunks(workload, samples), folder, version)


def write_batches(workload: Workload, batches: Iterable[Joined], folder: Path, version: str = "2.2") -> None:
    """The same, a record batch for each."""
    if workload.codec == "zstd-dict":
        raise Cannot("no dictionaries for zstd")
    codec = {"lance-encoding:compression": "none" if workload.codec == "raw" else "zstd"}
    if workload.codec != "raw":
        codec["lance-encoding:compression-level"] = str(LEVEL)
    schema = columns.schema(workload, codec)
    each = columns.record_batches(batches, folder, schema)
    reader = pa.RecordBatchReader.from_batches(schema, each)
    lance.write_dataset(reader, folder / "samples.lance", data_storage_version=version)


def open(workload: Workload, folder: Path) -> Opened:
    """Open the dataset."""
    return Opened(workload, folder, lance.dataset(folder / "samples.lance"), records.shapes(folder))


def gather(handle: Opened, numbers: Numbers) -> Batch:
    """One `take`."""
    found = columns.whole(handle.dataset.take(pa.array(numbers), [columns.NAME]).column(0), owned=True)
    shapes = None if handle.shapes is None else handle.shapes[numbers]
    return columns.batch_of(handle.workload, found, shapes)


def loop(handle: Opened, batch: int, **config: Any) -> Iterator[Batch]:
    """Its own gives whole scans or Python's objects: permutations of `take`."""
    return loops.stored("lance", handle, batch, **config)


def samples(handle: Opened, *, seed: int, shuffled: bool, mib: int = 4) -> Iterator[Array]:
    """The rows of its scan, pass after pass, in record batches of so many MiB."""
    if shuffled:
        raise Cannot("scans in order only")
    rows = handle.workload.count(mib << 20)
    while True:
        for batch in handle.dataset.to_batches(batch_size=rows):
            yield from columns.batch_of(handle.workload, batch.column(0))


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """A column for each metadata, from record batches of some thousand rows."""
    schema = columns.row_schema(workload)
    reader = pa.RecordBatchReader.from_batches(schema, columns.row_batches(rows, schema))
    lance.write_dataset(reader, folder / "samples.lance")


def metadata(folder: Path) -> Columns:
    """The other columns."""
    names = "number", "label"
    return columns.named(lance.dataset(folder / "samples.lance").to_table(list(names)), *names)


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are a pool by hand."""
    write(workload, pool.samples(source, workers), folder)
