"""Batches of what is on the disk alone: how soon they are there, and how much is read for the random ones."""

import gc
import time
from collections.abc import Generator, Iterable
from contextlib import closing, suppress
from itertools import islice

import numpy as np

from benchmarks import sweep, table, timing
from benchmarks.page_cache import PAGE, evict
from benchmarks.peer import Array, Cannot, Numbers, optional
from benchmarks.peers import ALL
from benchmarks.process_tree import disk_bytes
from benchmarks.store import Store, sized
from benchmarks.suite import Found, Job, Results, Setting, Tried, attempted
from benchmarks.workload import Batch, Workload
from benchmarks.workloads import READ

CASES = {name: READ[name] for name in ("records", "images")}
QUICK: tuple[str, ...] = ()
FEW = ("images",)
SMOKE = ("records",)
PEERS = ALL
STORES = True
MOST_ROUNDS = 9

_COLUMNS = (
    "case",
    "system",
    "read, MiB",
    "touched",
    "of its pages",
    "opening, KiB",
    "us a sample",
    *table.RATIOS,
    "in order, us a sample",
    *table.RATIOS,
)

BATCHES = 4
IN_ORDER = 2**26  # bytes of consecutive samples
SHARE = 16  # one sample of so many: of more, some would lie in pages that were read for others

_STREAM = "samples"
"""The function of a peer, and so a part of a setting, by which it is read in order without batches."""

_OPENED = "layout", "open", "cold"


# What the report says of a setting in order.
_IN_BATCHES: Setting = {"in order": {"read": "in batches"}}
_STREAMED: Setting = {"in order": {"read": "sample by sample"}}


def prepare(job: Job) -> Tried:
    """Store, check, and try the settings, each with files that the kernel has forgotten."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()

    def rate(setting: Setting, _: float) -> float:
        handle = store.open(setting)
        store.check_gather(handle)
        del handle
        return 1 / _cold(store, setting)["seconds"]

    def in_order(setting: Setting, _: float) -> float:
        if _STREAM in setting:
            _check_stream(store, setting)
        return 1 / _in_order(store, setting)

    touched = sweep.tried(sweep.settings(store.peer, *_OPENED), rate)
    # What can be gathered was compared with the truth just now.
    gathered = [setting | _IN_BATCHES for setting, rate in touched if not isinstance(rate, str)]
    streamed = [setting | _STREAMED for setting in sweep.settings(store.peer, *_OPENED, _STREAM)]
    return {"touched": touched, "in order": sweep.tried(gathered + streamed, in_order)}


def measure(job: Job) -> Found:
    """Seconds a sample; bytes read: all, by those asked for and by those of its own pages, and to open."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    found = attempted("touched", lambda: {**_cold(store, job.setting("touched"))})
    return found | attempted("in order", lambda: {"in order": _in_order(store, job.setting("in order"))})


def _cold(store: Store, setting: Setting) -> dict[str, float]:
    _forget(store, setting)
    batches = _asked(store.workload)
    before, began = disk_bytes(), time.perf_counter()
    handle = store.open(setting)
    opening = time.perf_counter() - began
    opened = disk_bytes()
    seconds = opening + _seconds(store.peer.gather(handle, numbers) for numbers in batches)
    read = disk_bytes() - opened
    numbers = np.concatenate(batches)
    figures = {
        "seconds": seconds / len(numbers),
        "read": float(read),
        "touched": read / _whole_pages(store.workload, numbers),
        "opening": float(opened - before),
    }
    with suppress(Cannot):
        pages = optional(store.peer, "pages")(handle, numbers)
        figures["pages"] = read / (pages * PAGE)
    return figures


def _in_order(store: Store, setting: Setting) -> float:
    """Seconds a sample of an opening and gathers that follow each other from the beginning, or a stream."""
    _forget(store, setting)
    workload = store.workload
    count = min(workload.samples, workload.samples * IN_ORDER // workload.bytes)
    began = time.perf_counter()
    handle = store.open(setting)
    opening = time.perf_counter() - began
    if _STREAM in setting:
        with closing(_streamed(store, handle, setting)) as samples:
            return (opening + _seconds(islice(samples, count))) / count
    batches = np.array_split(np.arange(count), -(-count // workload.batch))
    return (opening + _seconds(store.peer.gather(handle, numbers) for numbers in batches)) / count


def _streamed(store: Store, handle: object, setting: Setting) -> Generator[Array, None, None]:
    yield from optional(store.peer, _STREAM)(handle, seed=0, shuffled=False, **setting[_STREAM])


def _check_stream(store: Store, setting: Setting) -> None:
    """Compare a batch's worth of samples from the beginning with the truth."""
    with closing(_streamed(store, store.open(setting), setting)) as samples:
        numbers = store.workload.check(list(islice(samples, store.workload.batch)))
    if list(numbers) != list(range(store.workload.batch)):
        raise ValueError(f"{store.workload.name}: the first {store.workload.batch} samples are not in order")


def _forget(store: Store, setting: Setting) -> None:
    store.open(setting)  # once, so that what is imported for it is there
    gc.collect()  # what an earlier handle has mapped could not be evicted
    evict(store.place(setting))


def _seconds(batches: Iterable[Batch]) -> float:
    """Until all of them are there; each is made as it is asked for."""
    began = time.perf_counter()
    for batch in batches:
        timing.touch(batch)
        del batch  # its memory may be the next one's
    return time.perf_counter() - began


def _asked(workload: Workload) -> list[Numbers]:
    """Some batches of distinct samples from all over."""
    count = max(1, min(BATCHES * workload.batch, workload.samples // SHARE))
    numbers = np.random.default_rng(3).permutation(workload.samples)[:count]
    return np.array_split(numbers, -(-count // workload.batch))


def _whole_pages(workload: Workload, numbers: Numbers) -> int:
    sizes = (workload.offsets[numbers + 1] - workload.offsets[numbers]) * np.dtype(workload.dtype).itemsize
    return int((-(-sizes // PAGE)).sum()) * PAGE


def report(results: Results, smoke: bool) -> list[str]:
    """One table."""
    lines = [
        "## Cold reads",
        "",
        "Distinct random samples in batches, after every file that holds them was evicted from the page",
        "cache, which mincore(2) confirmed. *Read* is what was then read from the disk, read-ahead included;",
        "*touched* is that by what was asked for, each sample rounded up to whole pages; *of its pages* is",
        "that by the pages of the system's own files that hold the samples and what its index tells of them,",
        "where it says which. Of both, 1 is the least. They differ where samples are short: one of 2 KiB is",
        "asked for as a single page, but where it can begin anywhere, it lies in two pages as often as in",
        "one, and DSRT also reads the page of its checksum. *Opening* is what was read before, to open the",
        "store, and is in none of these three; the times have the opening in them: who reads all of it there",
        "finds it in the page cache afterwards. *In order* are consecutive samples from the beginning, up to",
        "64 MiB of them, evicted anew, in batches or by the system's own way sample by sample, in the",
        "setting that is the fastest there. *x DSRT* is DSRT's time by a system's: above 1 it is faster;",
        "*x machine* the same of plain C that copies records out of the mapped file, with the best advice to",
        "the kernel. It waits for each page by itself: who has more under way is above it. Times are this",
        "disk's; a virtual one may be cached by its host.",
        "",
        *table.head(*_COLUMNS),
    ]
    for case, figures in results.items():
        systems = figures.get("touched", {})
        for place, peer in enumerate(table.systems(systems)):
            first = sized(CASES, case, smoke).title if not place else ""
            cells = [first, table.name(peer), table.middle(figures, "read", peer, 2**-20)]
            cells += [table.middle(figures, work, peer) for work in ("touched", "pages")]
            cells.append(table.middle(figures, "opening", peer, 2**-10))
            for work in ("seconds", "in order"):
                cells.append(table.middle(figures, work, peer, 1e6))
                cells += [table.less(figures.get(work, {}), peer, than) for than in table.RATIOS.values()]
            lines.append(table.row(cells))
    return lines
