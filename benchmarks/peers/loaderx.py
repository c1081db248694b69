"""loaderx: a typed store for each of what belongs to a sample, its gather and its loader."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from loaderx import Loader
from loaderx.sampler import Sampler
from loaderx.zrecord import Dense, Ragged, RaggedBatch

from benchmarks.peer import About, Cannot, Numbers, Row, Source, Transform
from benchmarks.workload import Batch, Packed, Workload

ABOUT = About(
    "loaderx",
    "`Dense` or `Ragged` store with codec raw, `__getitems__`; `Loader` over a cyclic `Sampler` with "
    "its default prefetch of 4; no checksums",
    "`append` of 4 MiB at once, with zstd 64: faster than other sizes and than all at once; single "
    "samples are stacked or packed to as much; `data_shards` 4, the default, which was faster than 1 "
    "and 2; a thread a core, which is its own choice; metadata are stores of their own; no checksums, "
    "no digests, no syncs",
)
SWEEP: dict[str, list[dict[str, Any]]] = {"loop": [{"workers": count} for count in (1, 0, 2, 4)]}

ROWS_AT_ONCE = 4096


def _created(workload: Workload, folder: Path) -> Dense | Ragged:
    # data_shards stays at 4, the default: 1, 2 and 8 were not faster when tried.
    options: dict[str, Any] = {"codec": workload.codec.replace("-", "_")}
    if workload.codec == "zstd-dict":
        options["dict_bytes"] = workload.dictionary
    if workload.ragged:
        return Ragged.create(folder / "store", workload.dtype, ndim=1, **options)
    return Dense.create(folder / "store", workload.dtype, workload.shape, **options)


def _chunks(samples: Iterable[Any], size: int) -> Iterator[list[Any]]:
    each = iter(samples)
    while chunk := list(islice(each, size)):
        yield chunk


def write(workload: Workload, samples: Iterable[npt.NDArray[np.generic]], folder: Path) -> None:
    """It takes arrays of many samples, and waits until they are written: samples are collected to such."""
    joined = RaggedBatch.from_records if workload.ragged else np.stack
    with _created(workload, folder) as store:
        for chunk in _chunks(samples, max(1, int(workload.batch_bytes / workload.bytes * workload.samples))):
            store.append(joined(chunk))


def write_batches(workload: Workload, batches: Iterable[Batch], folder: Path) -> None:
    """One append a batch."""
    with _created(workload, folder) as store:
        for batch in batches:
            if isinstance(batch, Packed):
                sizes = np.diff(batch.offsets).astype(np.uint64)
                store.append(RaggedBatch(batch.values, batch.offsets.astype(np.int32), sizes[:, None]))
            else:
                store.append(batch)


def write_rows(workload: Workload, rows: Iterable[Row], folder: Path) -> None:
    """Metadata are streams beside the samples; strings are records of their bytes."""
    with ExitStack() as open_stores:
        samples = open_stores.enter_context(_created(workload, folder))
        numbers = open_stores.enter_context(Dense.create(folder / "number", np.int64, (), codec="raw"))
        labels = open_stores.enter_context(Ragged.create(folder / "label", np.uint8, ndim=1, codec="raw"))
        for chunk in _chunks(rows, ROWS_AT_ONCE):
            samples.append(np.stack([sample for sample, _ in chunk]))
            numbers.append(np.array([metadata["number"] for _, metadata in chunk], np.int64))
            texts = [np.frombuffer(metadata["label"].encode(), np.uint8) for _, metadata in chunk]
            labels.append(RaggedBatch.from_records(texts))


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are for its callers to make."""
    if workers:
        raise Cannot("no processes")
    write(workload, map(source.__getitem__, range(len(source))), folder)


def metadata(folder: Path) -> dict[str, list[Any]]:
    """All of both streams."""
    with Dense.open(folder / "number") as numbers, Ragged.open(folder / "label") as labels:
        texts = [np.from_dlpack(text).tobytes().decode() for text in labels[:].to_tensors()]
        return {"number": np.from_dlpack(numbers[:]).tolist(), "label": texts}


def open(workload: Workload, folder: Path) -> Dense | Ragged:
    """Open the store."""
    return (Ragged if workload.ragged else Dense).open(folder / "store")


def _viewed(batch: Any) -> Batch:
    # By DLPack, without a copy.
    if isinstance(batch, RaggedBatch):
        return Packed(np.from_dlpack(batch.values), np.from_dlpack(batch.cu_seqlens).astype(np.int64))
    dense: npt.NDArray[np.generic] = np.from_dlpack(batch)
    return dense


def gather(store: Dense | Ragged, numbers: Numbers) -> Batch:
    """Its one call for many records."""
    return _viewed(store.__getitems__(numbers.astype(np.uint64)))


def loop(
    store: Dense | Ragged, batch: int, *, seed: int, transform: Transform | None = None, workers: int = 1
) -> Iterator[Batch]:
    """Its loader."""
    sampler = Sampler(len(store), batch, Sampler.Mode.CYCLIC, seed=seed)
    with Loader({"x": [store]}, sampler, workers=workers) as loader:
        for shards in loader:
            viewed = _viewed(shards[0]["x"])
            yield viewed if transform is None else transform(viewed)


def draw(
    order: str, rows: int, batch: int, *, weights: npt.NDArray[np.float64] | None = None, seed: int = 0
) -> Callable[[], Numbers]:
    """Its sampler."""
    raise Cannot("not measured yet")
