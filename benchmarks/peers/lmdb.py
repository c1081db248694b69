"""LMDB: a tree of keys and values in one mapped file; samples are bytes under their number."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import lmdb

from benchmarks import loops, pool, records
from benchmarks.loops import one_by_one
from benchmarks.peer import About, Array, Cannot, Numbers, Source
from benchmarks.workload import Batch, Workload

ABOUT = About(
    "lmdb",
    reads="one read transaction a batch, values as buffers of the map, joined into one array; cold "
    "files with `readahead` or without; it has no loader: permutations and that, alone, with threads that "
    "are ahead or in torch's DataLoader; no checksums",
    writes="`putmulti` in ascending order (`append`), without syncs, which the benchmark makes",
)
SWEEP: dict[str, list[dict[str, Any]]] = {
    "write": [{"commit": 256}, {"commit": 4096}, {"commit": 1 << 40}],
    "open": [{"many": True}, {"many": False}],
    "cold": [{"readahead": False}, {"readahead": True}],
    "loop": [{"threads": 0}, {"threads": 1}, {"threads": 2}, {"workers": 1}, {"workers": 2}],
    "workers": [
        *({"threads": threads} for threads in (0, 1, 2, 4)),
        *({"workers": workers} for workers in (1, 2, 4)),
    ],
}
ROOM = 1 << 40
"""Of addresses; the file grows with what is written."""


_opened: WeakValueDictionary[tuple[Path, bool], lmdb.Environment] = WeakValueDictionary()
"""A process may have a file open only once: what is open is used again, and closed with its last handle."""


class Environment:
    """An opened file, and what its bytes do not say."""

    def __init__(self, workload: Workload, folder: Path, many: bool, readahead: bool) -> None:
        self.workload, self.folder, self.many = workload, folder, many
        self.shapes = records.shapes(folder)
        path = folder / "samples"
        self.environment = _opened.get((path, readahead)) or lmdb.open(
            str(path), subdir=False, readonly=True, lock=False, readahead=readahead
        )
        _opened[path, readahead] = self.environment

    def joined(self, numbers: Numbers, values: list[Any]) -> Batch:
        """The batch that these values are."""
        return records.joined(self.workload, values, None if self.shapes is None else self.shapes[numbers])


def write(workload: Workload, samples: Iterable[Array], folder: Path, *, commit: int = 4096) -> None:
    """So many samples a transaction."""
    if workload.codec != "raw":
        raise Cannot("no codec")
    values = enumerate(records.encoded(workload, samples, folder))
    items = ((number.to_bytes(8, "big"), value) for number, value in values)
    path = str(folder / "samples")
    with lmdb.open(path, subdir=False, sync=False, metasync=False, lock=False, map_size=ROOM) as environment:
        while True:
            with environment.begin(write=True) as transaction, transaction.cursor() as cursor:
                consumed, _ = cursor.putmulti(islice(items, commit), append=True)
            if not consumed:
                return


def open(workload: Workload, folder: Path, *, many: bool = True, readahead: bool = False) -> Environment:
    """Map the file."""
    return Environment(workload, folder, many, readahead)


def gather(store: Environment, numbers: Numbers) -> Batch:
    """`getmulti` of all keys, or a `get` for each."""
    raw = numbers.astype(">u8").tobytes()
    keys = [raw[place : place + 8] for place in range(0, len(raw), 8)]
    # A buffer is good until the transaction ends: a list of samples needs bytes of its own.
    how: dict[str, Any] = {"buffers": store.workload.form != "list"}
    with store.environment.begin(**how) as transaction:
        if store.many:
            with transaction.cursor() as cursor:
                return store.joined(numbers, [value for _, value in cursor.getmulti(keys)])
        return store.joined(numbers, list(map(transaction.get, keys)))


def loop(store: Environment, batch: int, **config: Any) -> Iterator[Batch]:
    """It brings none."""
    return loops.stored("lmdb", store, batch, opened={"many": store.many}, **config)


def samples(store: Environment, *, seed: int, shuffled: bool) -> Iterator[Array]:
    """A `get` for each, in one transaction, or its cursor from the first key on."""
    with store.environment.begin() as transaction, transaction.cursor() as cursor:
        if shuffled:
            for number in one_by_one(store.workload.samples, seed):
                yield records.one(store.workload, transaction.get(number.to_bytes(8, "big")))
        while True:
            for value in cursor.iternext(keys=False):
                yield records.one(store.workload, value)
            cursor.first()


def build(workload: Workload, source: Source, folder: Path, workers: int) -> None:
    """Processes are a pool by hand."""
    write(workload, pool.samples(source, workers), folder)
