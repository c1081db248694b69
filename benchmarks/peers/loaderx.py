"""loaderx: a typed store for each of what belongs to a sample, its gather, its loader and its sampler."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from loaderx import Loader
from loaderx.sampler import Sampler
from loaderx.zrecord import Dense, Ragged, RaggedBatch

from benchmarks import pool
from benchmarks.loops import one_by_one
from benchmarks.peer import About, Array, Cannot, Columns, Numbers, Row, Source, Transform
from benchmarks.records import ROWS_AT_ONCE, several
from benchmarks.workload import Batch, Joined, Packed, Workload

ABOUT = About(
    "loaderx",
    reads="`Dense` or `Ragged` store, `__getitems__`; `Loader` over a cyclic `Sampler`, with transforms in "
    "its threads; single samples by `store[number]`; by DLPack without a copy; no checksums",
    writes="`append` of 4 MiB at once, with zstd 64: faster than other sizes and than all at once; single "
    "samples are stacked or packed to as much; a thread a core, which is its own choice; metadata are stores "
    "of their own; no checksums, no digests, no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    "write": [{"data_shards": 1}, {"data_shards": 2}, {"data_shards": 4}, {"data_shards": 8}],
    "loop": [
        {"workers": 0},
        {"workers": 1, "prefetch": 1},
        {"workers": 1},
        {"workers": 2},
        {"workers": 4},
    ],
    "workers": [{"workers": workers} for workers in (0, 1, 2, 4)],
}


class Store:
    """An opened store."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        self.store = (Ragged if workload.ragged else Dense).open(folder / "store")
        self.form = workload.form


def _created(workload: Workload, folder: Path, data_shards: int = 4) -> Dense | Ragged:
    options: dict[str, Any] = {"codec": workload.codec.replace("-", "_"), "data_shards": data_shards}
    if workload.codec == "zstd-dict":
        options["dict_bytes"] = workload.dictionary
    if workload.ragged:
        return Ragged.create(folder / "store", workload.dtype, workload.ndim, **options)
    return Dense.create(folder / "store", workload.dtype, workload.shape, **options)


def write(workload: Workload, samples: Iterable[Array], folder: Path, *, data_shards: int = 4) -> None:
    """It takes arrays of many samples, and waits until they are written: samples are collected to such."""
    pack = RaggedBatch.from_records if workload.ragged else np.stack
    with _created(workload, folder, data_shards) as store:
        for chunk in several(samples, workload.count(workload.batch_bytes)):
            store.append(pack(chunk))


def open(workload: Workload, folder: Path) -> Store:
    """Open the store."""
    return Store(workload, folder)


def gather(store: Store, numbers: Numbers) -> Batch:
    """Its one call for many records."""
    return _numpy(store.store.__getitems__(numbers.view(np.uint64)), store.form)


def _numpy(batch: Any, form: str) -> Batch:
    if not isinstance(batch, RaggedBatch):
        dense: npt.NDArray[np.generic] = np.from_dlpack(batch)
        return dense
    values, offsets = np.from_dlpack(batch.values), np.from_dlpack(batch.cu_seqlens)
    shapes = np.from_dlpack(batch.shapes) if batch.shapes.shape[1] > 1 else None
    packed = Packed(values, offsets.astype(np.int64), None if shapes is None else shapes.view(np.int64))
    # Its to_tensors makes the same with more objects and multiplies shapes again.
    return packed if form == "packed" else list(packed)


def loop(
    store: Store,
    batch: int,
    *,
    seed: int,
    transform: Transform | None = None,
    workers: int = 4,
    prefetch: int = 4,
) -> Iterator[Batch]:
    """Its loader; the transform runs in its threads."""

    def made(shards: list[dict[str, Any]]) -> Batch:
        found = _numpy(shards[0]["x"], store.form)
        return found if transform is None else transform(found)

    sampler = Sampler(len(store.store), batch, Sampler.Mode.CYCLIC, seed=seed)
    streams = {"x": [store.store]}
    with Loader(streams, sampler, workers=workers, prefetch=prefetch, transform=made) as loader:
        yield from loader


def samples(store: Store, *, seed: int, shuffled: bool) -> Iterator[Array]:
    """`store[number]`, which gives a ragged one as a batch of one."""
    for number in one_by_one(len(store.store), seed, shuffled):
        found = _numpy(store.store[number], store.form)
        yield found if isinstance(found, np.ndarray) else next(iter(found))


def draw(
    order: str, rows: int, batch: int, *, weights: npt.NDArray[np.float64] | None = None, seed: int = 0
) -> Callable[[], Numbers]:
    """Its sampler; what it returns is its own buffer."""
    modes = {"uniform": Sampler.Mode.IID, "permuted": Sampler.Mode.CYCLIC}
    if order not in modes:
        raise Cannot("no weights")
    sampler = Sampler(rows, batch, modes[order], seed=seed)
    return lambda: sampler.next().view(np.int64)


def write_batches(workload: Workload, batches: Iterable[Joined], folder: Path, data_shards: int = 4) -> None:
    """One append a batch."""
    with _created(workload, folder, data_shards) as store:
        for batch in batches:
            if isinstance(batch, Packed):
                shapes = np.diff(batch.offsets)[:, None] if batch.shapes is None else batch.shapes
                offsets = batch.offsets.astype(np.int32)
                store.append(RaggedBatch(batch.values, offsets, shapes.astype(np.uint64)))
            else:
                store.append(batch)


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """Metadata are streams beside the samples; strings are records of their bytes."""
    with ExitStack() as open_stores:
        samples = open_stores.enter_context(_created(workload, folder))
        numbers = open_stores.enter_context(Dense.create(folder / "number", np.int64, (), codec="raw"))
        labels = open_stores.enter_context(Ragged.create(folder / "label", np.uint8, ndim=1, codec="raw"))
        for chunk in several(rows, ROWS_AT_ONCE):
            samples.append(np.stack([sample for sample, _ in chunk]))
            numbers.append(np.array([metadata["number"] for _, metadata in chunk], np.int64))
            texts = [np.frombuffer(metadata["label"].encode(), np.uint8) for _, metadata in chunk]
            labels.append(RaggedBatch.from_records(texts))


def metadata(folder: Path) -> Columns:
    """All of both streams."""
    with Dense.open(folder / "number") as numbers, Ragged.open(folder / "label") as labels:
        texts = [np.from_dlpack(text).tobytes().decode() for text in labels[:].to_tensors()]
        return {"number": np.from_dlpack(numbers[:]), "label": texts}


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are a pool by hand."""
    write(workload, pool.samples(source, workers), folder)
