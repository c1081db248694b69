"""What a build adds to the memory of its process, by the number of samples: it should not depend on it."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

from benchmarks import table
from benchmarks.peer import load, optional
from benchmarks.peers import SYSTEMS
from benchmarks.suite import Found, Job, Results, Tried
from benchmarks.workload import Workload
from benchmarks.workloads.table import TABLE, check, rows

PEERS = SYSTEMS
STORES = False
MOST_ROUNDS = 1
CASES = {f"{count:,}-rows": replace(TABLE, samples=count) for count in (10_000, 100_000, 1_000_000)}
QUICK = ("10,000-rows",)
FEW: tuple[str, ...] = ()
SMOKE = ("10,000-rows",)
SMOKE_SHARE = 100


def _workload(case: str, smoke: bool) -> Workload:
    workload = CASES[case]
    return replace(workload, samples=workload.samples // SMOKE_SHARE) if smoke else workload


def prepare(job: Job) -> Tried:
    """Write a little and read it back.

    Raises:
        Cannot: The system has no metadata.
    """
    peer, workload = load(job.peer), _workload(job.case, smoke=True)
    folder = job.folder / "little"
    folder.mkdir()
    optional(peer, "write_rows")(workload, rows(workload), folder)
    check(peer, workload, folder)
    return {}


def measure(job: Job) -> Found:
    """MiB by which the process grew at most while it wrote."""
    peer, workload = load(job.peer), _workload(job.case, job.smoke)
    for _ in workload.all():  # what samples are made of is in memory, and counted as such
        pass
    folder = job.folder / "measured"
    folder.mkdir()
    # From proc(5): this sets the peak, VmHWM, to what is resident now, which includes all imports.
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    optional(peer, "write_rows")(workload, rows(workload), folder)
    found: Found = {"peak": (_status("VmHWM") - before) / 2**10}
    check(peer, workload, folder)
    shutil.rmtree(folder)
    return found


def _status(key: str) -> int:
    (kibibytes,) = re.findall(rf"^{key}:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(kibibytes)


def report(results: Results, smoke: bool) -> list[str]:
    """One table: systems by numbers of samples."""
    systems = {case: figures["peak"] for case, figures in results.items()}
    columns = [column for case in systems for column in (case.replace("-", " "), "x DSRT")]
    lines = [
        "## Memory of a build",
        "",
        "MiB that the process of a build has at its peak (VmHWM) beyond what it has after imports; samples",
        "of 64 bytes with a number and a string each, one by one from a generator. *x DSRT* is DSRT's by a",
        "system's: above 1 it needs less. There is one turn, and so all of it is uncertain.",
        "",
        *table.head("system", *columns, words=1),
    ]
    if smoke:
        lines.insert(2, f"(Here with a {SMOKE_SHARE}th of the samples.)\n")
    for peer in table.systems({peer for found in systems.values() for peer in found}):
        cells = [table.name(peer)]
        for figures in results.values():
            cells += [table.middle(figures, "peak", peer), table.less(figures["peak"], peer)]
        lines.append(table.row(cells))
    return lines
