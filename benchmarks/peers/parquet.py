"""Parquet by pyarrow: a row group is the least that it reads, so the loop reads those in random order."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import columns, pool, records
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source, Transform
from benchmarks.workload import LEVEL, Batch, Joined, Workload

ABOUT = About(
    "pyarrow",
    "a mapped file: `read_row_groups` of those that hold the samples, and `take`; the loop reads row groups "
    "in random order, some batches' worth at once, and shuffles their rows; single samples by "
    "`iter_batches`; no checksums",
    "`ParquetWriter`, plain pages, no statistics, row groups of so many KiB; no checksums, no digests, no "
    "syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    **{work: [{"kib": kib} for kib in (16, 128, 1024, 8192)] for work in ("write", "layout")},
    "open": [{"threads": False}, {"threads": True}],
    "loop": [{"batches": 4}, {"batches": 16}],
    "samples": [{"mib": 1}, {"mib": 4}],
}
PLAIN: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}


class Opened(NamedTuple):
    """A mapped file, and how many rows its groups have."""

    workload: Workload
    file: Any
    rows: int
    threads: bool
    shapes: records.Shapes | None


def write(workload: Workload, samples: Iterable[Array], folder: Path, kib: int = 128) -> None:
    """A table of one column; nothing that costs without being of use to who reads by number."""
    rows = workload.count(kib << 10)
    with _writer(workload, folder) as writer:
        batches = records.chunks(workload, samples, rows)
        for batch in columns.record_batches(batches, folder, writer.schema):
            writer.write_batch(batch, row_group_size=rows)


def write_batches(workload: Workload, batches: Iterable[Joined], folder: Path, kib: int = 128) -> None:
    """The same, all in one table, as each row group but the last has to have as many rows as the others."""
    with _writer(workload, folder) as writer:
        table = pa.Table.from_batches(columns.record_batches(batches, folder, writer.schema))
        writer.write_table(table, row_group_size=workload.count(kib << 10))


def _writer(workload: Workload, folder: Path) -> Any:
    if workload.codec == "zstd-dict":
        raise Cannot("no dictionaries for zstd")
    zstd = {} if workload.codec == "raw" else {"compression": "zstd", "compression_level": LEVEL}
    return pq.ParquetWriter(folder / "samples.parquet", columns.schema(workload), **(PLAIN | zstd))


def open(workload: Workload, folder: Path, threads: bool = False) -> Opened:
    """Map the file."""
    file = pq.ParquetFile(folder / "samples.parquet", memory_map=True)
    rows = file.metadata.row_group(0).num_rows
    return Opened(workload, file, rows, threads, records.shapes(folder))


def _column(handle: Opened, groups: Numbers) -> Any:
    read = handle.file.read_row_groups
    return read(groups.tolist(), columns=[columns.NAME], use_threads=handle.threads).column(0)


def _batch(handle: Opened, column: Any, places: Numbers, numbers: Numbers) -> Batch:
    shapes = None if handle.shapes is None else handle.shapes[numbers]
    taken = columns.whole(column.take(pa.array(places)), owned=True)
    return columns.batch_of(handle.workload, taken, shapes)


def gather(handle: Opened, numbers: Numbers) -> Batch:
    """Every row group once."""
    groups, which = np.unique(numbers // handle.rows, return_inverse=True)
    places = which * handle.rows + numbers % handle.rows
    return _batch(handle, _column(handle, groups), places, numbers)


def loop(
    handle: Opened, batch: int, *, seed: int, transform: Transform | None = None, batches: int = 16
) -> Iterator[Batch]:
    """So many batches' worth of row groups at once; what is no whole batch of these is left out."""
    rng = np.random.default_rng(seed)
    at_once = -(-batches * batch // handle.rows)
    while True:
        order = rng.permutation(handle.file.num_row_groups)
        for first in range(0, len(order), at_once):
            groups = order[first : first + at_once]
            column, numbers = _column(handle, groups), _numbers(handle, groups)
            places = rng.permutation(len(numbers))
            for start in range(0, len(places) - batch + 1, batch):
                some = places[start : start + batch]
                found = _batch(handle, column, some, numbers[some])
                yield found if transform is None else transform(found)


def samples(handle: Opened, *, seed: int, shuffled: bool, mib: int = 1) -> Iterator[Array]:
    """The rows of its record batches, each of so many MiB."""
    if shuffled:
        raise Cannot("iterates in order only")
    rows = handle.workload.count(mib << 20)
    while True:
        for batch in handle.file.iter_batches(rows, use_threads=handle.threads):
            yield from columns.batch_of(handle.workload, batch.column(0))


def _numbers(handle: Opened, groups: Numbers) -> Numbers:
    numbers = (groups[:, None] * handle.rows + np.arange(handle.rows)).reshape(-1)
    return numbers[numbers < handle.workload.samples]


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """A column for each metadata, a row group for some thousand rows."""
    schema = columns.row_schema(workload)
    with pq.ParquetWriter(folder / "samples.parquet", schema, **PLAIN) as writer:
        for batch in columns.row_batches(rows, schema):
            writer.write_batch(batch)


def metadata(folder: Path) -> Columns:
    """The other columns."""
    names = "number", "label"
    return columns.named(pq.read_table(folder / "samples.parquet", columns=list(names)), *names)


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are a pool by hand."""
    write(workload, pool.samples(source, workers), folder)
