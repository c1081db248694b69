"""Arrow's IPC file, mapped: `take` of a column that is one array, which copies each value whole."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from benchmarks import columns, loops, pool, records
from benchmarks.loops import one_by_one
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source
from benchmarks.workload import LEVEL, Batch, Joined, Workload

ABOUT = About(
    "pyarrow",
    "a mapped file: `take` of a binary column in one record batch or, what compressed ones need, `get_batch` "
    "of one for each sample; it has no loader: permutations and that, alone, with threads or in torch's "
    "DataLoader; single samples by index, as bytes of Python; no checksums",
    "`RecordBatchFileWriter`, a record batch for all samples, for each or for each batch; no checksums, no "
    "digests, no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    "layout": [{"rows": 0}, {"rows": 1}],
    "loop": [{}, {"threads": 1}, {"threads": 2}, {"workers": 1}, {"workers": 2}],
    "workers": [{}, {"workers": 1}, {"workers": 2}, {"workers": 4}],
}
SINGLE = 100_000


class Opened(NamedTuple):
    """A mapped file; `column` has all samples, unless there is a record batch for each."""

    workload: Workload
    folder: Path
    reader: Any
    column: Any
    shapes: records.Shapes | None


def write(workload: Workload, samples: Iterable[Array], folder: Path, rows: int | None = None) -> None:
    """So many samples in each record batch; with 0 all of them, which compressed ones cannot be read from."""
    if workload.codec == "zstd-dict":
        raise Cannot("no dictionaries for zstd")
    codec = None if workload.codec == "raw" else pa.Codec("zstd", LEVEL)
    if rows is None:
        rows = 1 if codec else 0
    if codec and not rows:
        raise Cannot("a record batch is decompressed whole")
    if rows == 1 and workload.samples > SINGLE:
        raise Cannot(f"of more than {SINGLE:,} samples, a record batch each takes minutes to write")
    _written(workload, records.chunks(workload, samples, rows or workload.samples), folder, codec)


def write_batches(workload: Workload, batches: Iterable[Joined], folder: Path) -> None:
    """A record batch for each."""
    if workload.codec != "raw":
        raise Cannot("a record batch is decompressed whole")
    _written(workload, batches, folder)


def _written(workload: Workload, batches: Iterable[Joined], folder: Path, codec: Any = None) -> None:
    schema, options = columns.schema(workload), pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_file(str(folder / "samples.arrow"), schema, options=options) as writer:
        for batch in columns.record_batches(batches, folder, schema):
            writer.write_batch(batch)


def open(workload: Workload, folder: Path) -> Opened:
    """Map the file."""
    reader = pa.ipc.open_file(pa.memory_map(str(folder / "samples.arrow")))
    column = None
    if reader.num_record_batches == 1:
        column = reader.get_batch(0).column(0)
    elif reader.num_record_batches < workload.samples:
        column = reader.read_all().column(0)
    return Opened(workload, folder, reader, column, records.shapes(folder))


def gather(handle: Opened, numbers: Numbers) -> Batch:
    """One `take`, or the record batches one by one."""
    if handle.column is not None:
        found = handle.column.take(pa.array(numbers))
        if isinstance(found, pa.ChunkedArray):
            found = columns.whole(found, owned=True)
    else:
        batch = handle.reader.get_batch
        found = columns.whole(pa.chunked_array([batch(number).column(0) for number in numbers.tolist()]))
    shapes = None if handle.shapes is None else handle.shapes[numbers]
    return columns.batch_of(handle.workload, found, shapes)


def loop(handle: Opened, batch: int, **config: Any) -> Iterator[Batch]:
    """It brings none."""
    return loops.stored("arrow_ipc", handle, batch, **config)


def samples(handle: Opened, *, seed: int, shuffled: bool) -> Iterator[Array]:
    """A value of the column, or of its record batch, after another."""
    for number in one_by_one(handle.workload.samples, seed, shuffled):
        if handle.column is not None:
            value = handle.column[number]
        else:
            value = handle.reader.get_batch(number).column(0)[0]
        yield records.one(handle.workload, value.as_py())


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """A column for each metadata, a record batch for some thousand rows."""
    schema = columns.row_schema(workload)
    with pa.ipc.new_file(str(folder / "samples.arrow"), schema) as writer:
        for batch in columns.row_batches(rows, schema):
            writer.write_batch(batch)


def metadata(folder: Path) -> Columns:
    """The other columns."""
    reader = pa.ipc.open_file(pa.memory_map(str(folder / "samples.arrow")))
    return columns.named(reader.read_all(), "number", "label")


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are a pool by hand."""
    write(workload, pool.samples(source, workers), folder)
