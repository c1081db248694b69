"""Verification of a whole cache beside the mere reading of its files: from the disk, and from memory."""

import gc
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import page_cache, table
from benchmarks.peers import FIRST
from benchmarks.store import sized
from benchmarks.suite import Figures, Found, Job, Results, Tried
from benchmarks.workload import Workload
from benchmarks.workloads import READ

PEERS = (FIRST,)
STORES = False
MOST_ROUNDS = 9
CASES = {name: READ[name] for name in ("images", "records", "tokens-zstd")}
QUICK = ("images",)
FEW: tuple[str, ...] = ()
SMOKE = ("records",)

SHARD_BYTES = 16 << 20
PLAIN = "read, nothing checked"


def _works() -> dict[str, Callable[[Path], list[Any]]]:
    # Imported here: the process of any system imports all suites, and that of most has no use for these.
    from dsrt_format import validate
    from dsrt_native import verify

    return {
        PLAIN: _read,
        "verify, structure": partial(verify, level="structure"),
        "verify, records": partial(verify, level="records"),
        "verify, digests": partial(verify, level="digests"),
        "dsrt_format.validate, digests": partial(validate, level="digests"),
    }


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())


def _read(path: Path) -> list[Any]:
    """Read all files in pieces, as many at once as there are CPUs, and find nothing."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        list(threads.map(page_cache.read, _files(path)))
    return []


def _cached() -> float:
    """MiB in the page cache of the machine."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    (found,) = (line.split()[1] for line in lines if line.startswith("Cached:"))
    return int(found) / 2**10


def prepare(job: Job) -> Tried:
    """Write the workload; every file is durable then.

    Raises:
        ValueError: The cache is not sound.
    """
    from benchmarks.peers import dsrt
    from dsrt_format import validate
    from dsrt_native import CacheWriter, verify

    workload = sized(CASES, job.case, job.smoke)
    path = job.folder / "samples"
    fields = {"x": dsrt.field(workload)}
    with CacheWriter(path, fields, shard_bytes=SHARD_BYTES) as writer:
        for sample in workload.all():
            writer.append({"x": sample})
    if problems := verify(path) + validate(path):
        raise ValueError(f"{workload.name}: {problems[0]}")
    return {}


def measure(job: Job) -> Found:
    """Seconds for the whole cache by work, each from the disk and from memory, and the bytes of the cache.

    Raises:
        ValueError: Something is wrong with a cache that is not.
    """
    path = job.folder / "samples"
    found: Found = {"bytes": float(sum(file.stat().st_size for file in _files(path)))}
    for name, work in _works().items():
        for place in ("disk", "memory"):
            if place == "disk":
                gc.collect()  # what is still mapped could not be evicted
                page_cache.evict(path)
            else:
                _read(path)
            before = _cached()
            began = time.perf_counter()
            problems = work(path)
            found[f"{name}, {place}"] = time.perf_counter() - began
            if place == "disk":
                found[f"{name}, left"] = _cached() - before
            if problems:
                raise ValueError(f"{name}: {problems}")
    return found


def report(results: Results, smoke: bool) -> list[str]:
    """A table a workload."""
    lines = [
        "## Verification",
        "",
        f"Of a whole cache in files of {SHARD_BYTES >> 20} MiB, on as many threads as there are CPUs",
        "(validate: one). MiB/s is its length by the time. *Left* is what the page cache of the machine grew",
        "by while the files were read from the disk; other processes change it, too.",
    ]
    for case, figures in results.items():
        workload, stored = sized(CASES, case, smoke), figures.get("bytes", {}).get(FIRST)
        if isinstance(stored, str):
            lines += ["", f"### {workload.heading}", "", f"{FIRST}: {stored}"]
        elif stored:
            lines += ["", *_section(workload, median(stored), figures)]
    return lines


def _section(workload: Workload, size: float, figures: Figures) -> list[str]:
    def of(work: str) -> list[float]:
        found = figures[work][FIRST]
        return [] if isinstance(found, str) else found

    lines = [f"### {workload.heading}, {size / 2**20:,.0f} MiB stored", ""]
    columns = ("work", "disk, s", "MiB/s", "spread", "memory, s", "MiB/s", "spread", "left, MiB")
    lines += table.head(*columns, words=1)
    for name in (work.removesuffix(", disk") for work in figures if work.endswith(", disk")):
        cells = [name]
        for place in ("disk", "memory"):
            seconds = of(f"{name}, {place}")
            cells.append(f"{table.mark(seconds)}{median(seconds):.3f}")
            # The structure is a small part of the bytes.
            whole = (
                "" if "structure" in name else f"{table.mark(seconds)}{size / median(seconds) / 2**20:,.0f}"
            )
            cells += [whole, table.spread(seconds)]
        lines.append(table.row([*cells, table.count(of(f"{name}, left"))]))
    return lines
