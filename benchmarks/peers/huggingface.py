"""Hugging Face datasets: rows of a mapped Arrow file in the format `arrow`, the one that copies least."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from datasets.arrow_writer import ArrowWriter

from benchmarks import columns, loops, records
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source, Transform
from benchmarks.workload import Batch, Joined, Workload

ABOUT = About(
    "datasets pyarrow",
    "`Dataset.from_file` in the format `arrow`, `ds[numbers]`, chunks combined; the loop is permutations and "
    "that, alone, with a thread or in torch's DataLoader, or `shuffle` and `iter`; single samples by `for "
    "row in ds`, whose values are bytes of Python; no checksums",
    "`ArrowWriter.write_table` of 4 MiB at once, `write` of rows with metadata; workers by `from_generator`; "
    "no checksums, no digests, no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    "loop": [{}, {"threads": 1}, {"workers": 1}, {"workers": 2}, {"by": "shuffle"}],
    "workers": [{}, {"workers": 1}, {"workers": 2}, {"workers": 4}],
}


class Opened(NamedTuple):
    """A dataset."""

    workload: Workload
    folder: Path
    dataset: Any
    shapes: records.Shapes | None


def _features(workload: Workload, **metadata: str) -> Any:
    width = columns.schema(workload).field(0).type
    kind = "large_binary" if workload.ragged else f"fixed_size_binary[{width.byte_width}]"
    kinds = {columns.NAME: kind, **metadata}
    return datasets.Features({name: datasets.Value(kind) for name, kind in kinds.items()})


def write(workload: Workload, samples: Iterable[Array], folder: Path) -> None:
    """One file, as its own builders write it."""
    write_batches(workload, records.chunks(workload, samples), folder)


def write_batches(workload: Workload, batches: Iterable[Joined], folder: Path) -> None:
    """The same, a table for each."""
    if workload.codec != "raw":
        raise Cannot("no codec")
    schema, features = columns.schema(workload), _features(workload)
    with ArrowWriter(features=features, path=str(folder / "samples.arrow")) as writer:
        for batch in columns.record_batches(batches, folder, schema):
            writer.write_table(pa.Table.from_batches([batch]).cast(features.arrow_schema))
        writer.finalize()


def open(workload: Workload, folder: Path) -> Opened:
    """Map the files, of which a build by processes has several; nothing asks the hub for local ones."""
    dataset = _dataset(folder).with_format("arrow")
    if dataset.num_columns > 1:
        dataset = dataset.select_columns(columns.NAME)
    return Opened(workload, folder, dataset, records.shapes(folder))


def _dataset(folder: Path) -> Any:
    parts = [datasets.Dataset.from_file(str(file)) for file in sorted(folder.rglob("*.arrow"))]
    return datasets.concatenate_datasets(parts)


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


def samples(handle: Opened, *, seed: int, shuffled: bool) -> Iterator[Array]:
    """Its rows, pass after pass, in the format of Python's objects, as a value is bytes."""
    dataset, rng = handle.dataset.with_format(None), np.random.default_rng(seed)
    while True:
        for row in dataset.shuffle(generator=rng, keep_in_memory=True) if shuffled else dataset:
            yield records.one(handle.workload, row[columns.NAME])


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """One example after another, as `from_generator` writes those of its generator."""
    features = _features(workload, number="int64", label="string")
    with ArrowWriter(features=features, path=str(folder / "samples.arrow")) as writer:
        for sample, metadata in rows:
            writer.write({columns.NAME: sample.tobytes(), **metadata})
        writer.finalize()


def metadata(folder: Path) -> Columns:
    """The other columns."""
    names = "number", "label"
    return columns.named(_dataset(folder).select_columns([*names]).with_format("arrow")[:], *names)


def _examples(source: Source, numbers: list[int]) -> Iterator[dict[str, bytes]]:
    for number in numbers:
        yield {columns.NAME: source[number].tobytes()}


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """`from_generator`, which gives each process a part of the list of numbers."""
    if workers == 1:
        raise Cannot("one process is the caller's")
    datasets.Dataset.from_generator(
        _examples,
        features=_features(workload),
        cache_dir=str(folder),
        gen_kwargs={"source": source, "numbers": list(range(len(source)))},
        num_proc=workers or None,
    )
