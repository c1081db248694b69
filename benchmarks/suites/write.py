"""From arrays in memory to a complete store: into memory, and to a disk until it is durable."""

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import sweep, table
from benchmarks.peer import Cannot, Peer, check, load, optional
from benchmarks.peers import ALL
from benchmarks.process import SHARED_MEMORY
from benchmarks.store import sized
from benchmarks.suite import Figures, Found, Job, Results, Setting, Tried
from benchmarks.workload import LEVEL, Joined, Workload, elements
from benchmarks.workloads import KINDS

CASES = KINDS
QUICK = ("tokens",)
FEW = ("records", "images", "tokens-zstd-dict", "photographs-zstd")
SMOKE = ("records",)
PEERS = tuple(peer for peer in ALL if peer != "torch")  # it writes the file of memmap
STORES = False
MOST_ROUNDS = 100
WARMING_BYTES = 16 << 20
CHECKED_BATCHES = 4

FIGURES = "memory", "cpu", "disk", "stored"

_WAYS = {"samples": "samples one by one", "batches": "batches of {} MiB"}


def prepare(job: Job) -> Tried:
    """Write everything in every way and setting that the system has, and read it back.

    Of each setting some batches are read, and all of the one that is the fastest, which will be used.

    Raises:
        ValueError: What the fastest has written is not the workload.
    """
    workload = sized(CASES, job.case, job.smoke)
    peer = load(job.peer)
    batches = list(workload.batches(workload.batch_bytes))
    values = elements(batches)

    def tried(way: str) -> list[tuple[Setting, float | str]]:
        folder, fastest = job.folder / way, job.folder / f"{way}-fastest"
        least = math.inf

        def rate(setting: Setting, _: float) -> float:
            nonlocal least
            folder.mkdir()
            try:
                began = time.perf_counter()
                _write(peer, workload, batches, way, setting)(folder)
                seconds = time.perf_counter() - began
                check(peer, workload, folder, values, CHECKED_BATCHES)
                if seconds < least:
                    least = seconds
                    shutil.rmtree(fastest, ignore_errors=True)
                    folder.rename(fastest)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return workload.bytes / 2**20 / seconds

        found = sweep.tried(sweep.settings(peer, "write"), rate)
        if fastest.exists():
            check(peer, workload, fastest, values)
            shutil.rmtree(fastest)
        return found

    return {way: tried(way) for way in _WAYS}


def measure(job: Job) -> Found:
    """Seconds by way and place, seconds of the CPU, and MiB of the files."""
    workload = sized(CASES, job.case, job.smoke)
    peer = load(job.peer)
    batches = list(workload.batches(workload.batch_bytes))
    warming = max(1, int(len(batches) * WARMING_BYTES / workload.bytes))
    found: Found = {}
    with _memory(job, workload) as memory:
        for way in _WAYS:
            try:
                setting = job.setting(way)
                # Threads are started and allocators warm, as they are in any build worth a measurement.
                _timed(_write(peer, workload, batches[:warming], way, setting), job.folder / "warming")
            except Cannot as reason:
                found |= {f"{way} {figure}": str(reason) for figure in FIGURES}
                continue
            write = _write(peer, workload, batches, way, setting)
            in_memory = _timed(write, memory / way)
            os.sync()  # what others left to be written does not count here
            on_disk = _timed(write, job.folder / way, durable=True)
            figures = in_memory.seconds, in_memory.cpu, on_disk.seconds, in_memory.stored
            found |= {f"{way} {name}": figure for name, figure in zip(FIGURES, figures, strict=True)}
    return found


def _write(
    peer: Peer, workload: Workload, batches: list[Joined], way: str, setting: Setting
) -> Callable[[Path], None]:
    config = setting.get("write", {})
    if way == "batches":
        return partial(optional(peer, "write_batches"), workload, batches, **config)
    return partial(peer.write, workload, [sample for batch in batches for sample in batch], **config)


@contextmanager
def _memory(job: Job, workload: Workload) -> Iterator[Path]:
    # Files in memory: all that a writer does but for waiting until a disk has it.
    if shutil.disk_usage(SHARED_MEMORY).free < 2 * workload.bytes:
        raise OSError(f"{SHARED_MEMORY} has no room for {2 * workload.bytes >> 20} MiB")
    with tempfile.TemporaryDirectory(prefix=f"dsrt-benchmarks-{job.peer}-", dir=SHARED_MEMORY) as folder:
        yield Path(folder)


class _Cost(NamedTuple):
    seconds: float
    cpu: float
    stored: float


def _timed(write: Callable[[Path], None], folder: Path, durable: bool = False) -> _Cost:
    folder.mkdir()
    try:
        began, worked = time.perf_counter(), time.process_time()
        write(folder)
        if durable:
            _sync(folder)
        seconds, cpu = time.perf_counter() - began, time.process_time() - worked
        stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    finally:
        shutil.rmtree(folder)
    return _Cost(seconds, cpu, stored / 2**20)


def _sync(folder: Path) -> None:
    # What a writer has synced itself costs next to nothing here.
    for path in [folder, *folder.rglob("*")]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def report(results: Results, smoke: bool) -> list[str]:
    """A table a workload."""
    lines = [
        "## Writing",
        "",
        "From arrays in memory to a closed store whose content was compared with the truth beforehand. *No",
        "syncs*: on a file system in memory, where a sync costs nothing. *Durable*: on the disk, until every",
        "file is there for good; DSRT syncs its files itself, those of a system that does not are synced by",
        "the benchmark and the time counts. Both as MiB of payload a second. *CPU*: MiB of payload for each",
        "second that all threads together worked, without syncs; a busy machine changes it least. *x DSRT*",
        "and *x machine* are ratios to DSRT and to the row `machine`, above 1 it is faster: that is one",
        "thread that writes the same bytes into one file, compressed ones each by a call of libzstd, and no",
        "checksum, digest or sync. *Stored* is the size of all files. torch has no writer.",
    ]
    for case, figures in results.items():
        lines += ["", *_section(sized(CASES, case, smoke), figures)]
    return lines


def _section(workload: Workload, figures: Figures) -> list[str]:
    lines = [f"### {workload.heading}{'' if workload.codec == 'raw' else f', level {LEVEL}'}", ""]
    rate = ["spread", *table.RATIOS]
    lines += table.head("input", "system", "no syncs", *rate, "CPU", *rate, "durable", *rate, "stored MiB")
    for way, title in _WAYS.items():
        *costs, stored = (figures[f"{way} {figure}"] for figure in FIGURES)
        for place, peer in enumerate(table.systems(stored)):
            cells = ["" if place else title.format(workload.batch_bytes >> 20), table.name(peer)]
            size = stored[peer]
            if isinstance(size, str):
                lines.append(table.row([*cells, size, *[""] * (3 * len(rate) + 3)]))
                continue
            for seconds in costs:
                compared = {peer, *table.RATIOS.values()} & seconds.keys()
                rates = {name: _rates(workload, seconds[name]) for name in compared}
                cells += [table.count(rates[peer]), table.spread(rates[peer]), *table.ratios(rates, peer)]
            lines.append(table.row([*cells, f"{median(size):,.0f}"]))
    return lines


def _rates(workload: Workload, seconds: list[float] | str) -> list[float]:
    return [] if isinstance(seconds, str) else [workload.bytes / 2**20 / each for each in seconds]
