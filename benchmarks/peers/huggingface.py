"""Hugging Face datasets: rows of a mapped Arrow file in the format `arrow`, the one that copies least."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from datasets.arrow_writer import ArrowWriter

from benchmarks import columns, loops, records
from benchmarks.peer import About, Array, Cannot, Numbers, Transform
from benchmarks.workload import Batch, Workload

ABOUT = About(
    "datasets pyarrow",
    "`Dataset.from_file` in the format `arrow`, `ds[numbers]`, chunks combined; the loop is permutations and "
    "that, alone, with a thread or in torch's DataLoader, or `shuffle` and `iter`; no checksums",
    "`ArrowWriter.write_table` of 4 MiB at once; no checksums, no digests, no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    "loop": [{}, {"threads": 1}, {"workers": 1}, {"workers": 2}, {"by": "shuffle"}],
    "workers": [{}, {"workers": 1}, {"workers": 2}, {"workers": 4}],
}
AT_ONCE = 4 << 20


class Opened(NamedTuple):
    """A dataset."""

    workload: Workload
    folder: Path
    dataset: Any
    shapes: records.Shapes | None


def write(workload: Workload, samples: Iterable[Array], folder: Path) -> None:
    """One file, as its own builders write it."""
    if workload.codec != "raw":
        raise Cannot("no codec")
    schema = columns.schema(workload)
    kind = "large_binary" if workload.ragged else f"fixed_size_binary[{schema.field(0).type.byte_width}]"
    features = datasets.Features({columns.NAME: datasets.Value(kind)})
    rows = max(1, AT_ONCE * workload.samples // workload.bytes)
    with ArrowWriter(features=features, path=str(folder / "samples.arrow")) as writer:
        for batch in columns.record_batches(workload, samples, folder, rows, schema):
            writer.write_table(pa.Table.from_batches([batch]).cast(features.arrow_schema))
        writer.finalize()


def open(workload: Workload, folder: Path) -> Opened:
    """Map the file; nothing asks the hub for a local one."""
    dataset = datasets.Dataset.from_file(str(folder / "samples.arrow")).with_format("arrow")
    return Opened(workload, folder, dataset, records.shapes(folder))


def gather(handle: Opened, numbers: Numbers) -> Batch:
    """One indexing, which gives views of the file, and a copy of those."""
    return _batch(handle, handle.dataset[numbers], numbers)


def _batch(handle: Opened, table: Any, numbers: Numbers) -> Batch:
    shapes = None if handle.shapes is None else handle.shapes[numbers]
    return columns.batch_of(handle.workload, columns.whole(table.column(0)), shapes)


def loop(
    handle: Opened,
    batch: int,
    *,
    seed: int,
    transform: Transform | None = None,
    by: str = "rows",
    **config: Any,
) -> Iterator[Batch]:
    """Permutations of its rows, or its own."""
    if by == "shuffle":
        return _shuffled(handle, batch, seed, transform)
    return loops.stored("huggingface", handle, batch, seed=seed, transform=transform, **config)


def _shuffled(handle: Opened, batch: int, seed: int, transform: Transform | None) -> Iterator[Batch]:
    if handle.shapes is not None:
        raise Cannot("`iter` tells no numbers, and shapes are kept apart")
    rng = np.random.default_rng(seed)
    while True:
        shuffled = handle.dataset.shuffle(generator=rng, keep_in_memory=True)
        for table in shuffled.iter(batch, drop_last_batch=True):
            found = _batch(handle, table, np.empty(0, np.int64))
            yield found if transform is None else transform(found)
