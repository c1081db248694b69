"""Reading a table of a million rows: all columns, and the first samples that a condition on one chooses."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import page_cache, table, timing
from benchmarks.peer import Cannot, Peer, load, optional
from benchmarks.peers import SYSTEMS
from benchmarks.suite import Found, Job, Results, Tried
from benchmarks.workload import Workload
from benchmarks.workloads.table import TABLE, check, metadata, rows

PEERS = SYSTEMS
STORES = False
MOST_ROUNDS = 9
CASES = {"1,000,000-rows": replace(TABLE, samples=1_000_000)}
QUICK: tuple[str, ...] = ()
FEW: tuple[str, ...] = ()
SMOKE = tuple(CASES)

EVERY, FIRST_OF_THEM = 97, 5
"""Those numbers are chosen that leave this, divided by that."""

_WORKS = {"columns": "all columns, ms", "chosen": "256 chosen samples, ms"}
_LITTLE = replace(TABLE, samples=TABLE.batch)


def _workload(case: str, smoke: bool) -> Workload:
    return CASES[case].shrunk() if smoke else CASES[case]


def prepare(job: Job) -> Tried:
    """Write the table, and a little one, and read both back.

    Raises:
        Cannot: The system has no metadata.
    """
    peer = load(job.peer)
    for name, workload in (("little", _LITTLE), ("all", _workload(job.case, job.smoke))):
        folder = job.folder / name
        folder.mkdir()
        optional(peer, "write_rows")(workload, rows(workload), folder)
        check(peer, workload, folder)
    return {}


def measure(job: Job) -> Found:
    """Seconds from a closed store to its columns, and to the first batch of chosen samples."""
    peer, workload = load(job.peer), _workload(job.case, job.smoke)
    page_cache.warm(job.folder / "all")
    _read(peer, _LITTLE, job.folder / "little")  # what is imported for it is there
    return _read(peer, workload, job.folder / "all")


def _read(peer: Peer, workload: Workload, folder: Path) -> Found:
    """Both.

    Raises:
        ValueError: They are others than asked for.
    """
    began = time.perf_counter()
    columns = optional(peer, "metadata")(folder)
    numbers, last = np.asarray(columns["number"]), str(columns["label"][-1])
    found: Found = {"columns": time.perf_counter() - began}
    chosen = np.flatnonzero(numbers % EVERY == FIRST_OF_THEM)[: workload.batch]
    try:
        batch = peer.gather(peer.open(workload, folder), chosen)
        timing.touch(batch)
    except Cannot as reason:
        return found | {"chosen": str(reason)}
    found["chosen"] = time.perf_counter() - began
    expected = list(range(FIRST_OF_THEM, workload.samples, EVERY))[: workload.batch]
    if workload.check(batch) != expected or last != metadata(workload.samples - 1)["label"]:
        raise ValueError("other rows than asked for")
    return found


def report(results: Results, smoke: bool) -> list[str]:
    """One table."""
    columns = [column for title in _WORKS.values() for column in (title, "spread", "x DSRT")]
    lines = [
        "## Reading a table",
        "",
        "Of a million rows, each with a number and a string beside 64 bytes, from a closed store that the",
        "page cache has: until all columns are there as the system gives them, lists or arrays of NumPy,",
        "Arrow or Polars, and of them the numbers in one array of NumPy; and from the beginning until the",
        f"first 256 samples are there of those whose number leaves {FIRST_OF_THEM}, divided by {EVERY}. DSRT",
        "verifies the checksums of all that it reads. Columns of Arrow may view a mapped file, and the",
        "pages of their strings are then read by whoever looks at them. *x DSRT* is DSRT's time by a",
        "system's: above 1 it is faster.",
        "",
    ]
    if smoke:
        lines.insert(2, "(Here of fewer.)\n")
    for figures in results.values():
        lines += table.head("system", *columns, words=1)
        for peer in table.systems({peer for systems in figures.values() for peer in systems}):
            cells = [table.name(peer)]
            for work in _WORKS:
                found = figures[work].get(peer, "")
                if isinstance(found, str):
                    cells += [found, "", ""]
                else:
                    shown = table.middle(figures, work, peer, 1e3)
                    cells += [shown, table.spread(found), table.less(figures[work], peer)]
            lines.append(table.row(cells))
    return lines
