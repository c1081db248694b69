"""How much faster worker processes make a build whose source keeps Python busy."""

import shutil
import time
from functools import partial
from statistics import median

import numpy as np
import numpy.typing as npt

from benchmarks import table
from benchmarks.content import noise
from benchmarks.peer import Cannot, check, load, optional
from benchmarks.peers import SYSTEMS
from benchmarks.suite import Found, Job, Results, Tried
from benchmarks.workload import Workload, elements

PEERS = SYSTEMS
STORES = False
MOST_ROUNDS = 3
WORKERS = (0, 1, 2)

_WORKLOAD = Workload(
    "busy",
    "a busy source",
    "uint8",
    1_000,
    256,
    shape=(4096,),
    content=partial(noise, 1 << 20),
    smoke_samples=64,
)
CASES = {"busy": _WORKLOAD}
QUICK: tuple[str, ...] = ()
FEW: tuple[str, ...] = ()
SMOKE = ("busy",)

_TURNS = 60_000


class Busy:
    """Samples, each at the price of about four milliseconds of plain Python."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def __len__(self) -> int:
        return self.workload.samples

    def __getitem__(self, number: int) -> npt.NDArray[np.generic]:
        value = number
        for _ in range(_TURNS):
            value = (value * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
        return self.workload.sample(number)


def prepare(job: Job) -> Tried:
    """Build a little with every number of workers, and read it back.

    Raises:
        Cannot: The system has no way to build.
    """
    _built(job, _WORKLOAD.shrunk())
    return {}


def measure(job: Job) -> Found:
    """Seconds by number of workers, their start and end included."""
    return _built(job, _WORKLOAD.shrunk() if job.smoke else _WORKLOAD)


def _built(job: Job, workload: Workload) -> Found:
    """The seconds of each build, all of which are read back once none is timed any more.

    Raises:
        ValueError: What is read is not what was written.
    """
    peer = load(job.peer)
    build = optional(peer, "build")
    found: Found = {}
    for workers in WORKERS:
        folder = job.folder / str(workers)
        folder.mkdir()
        began = time.perf_counter()
        try:
            build(workload, Busy(workload), folder, workers)
            found[str(workers)] = time.perf_counter() - began
        except Cannot as reason:
            found[str(workers)] = str(reason)
    values = elements(workload.batches(workload.bytes))
    for work, seconds in found.items():
        folder = job.folder / work
        if not isinstance(seconds, str):
            check(peer, workload, folder, values)
        shutil.rmtree(folder)
    return found


def report(results: Results, smoke: bool) -> list[str]:
    """One table: systems by numbers of workers."""
    lines = [
        "## Worker processes",
        "",
        f"A build of {_WORKLOAD.samples:,} samples that keep Python busy for about 4 ms each. Seconds, with",
        "the start and the end of the processes; in brackets, how much faster it is than without them. DSRT,",
        "litdata, Hugging Face and dataset-rt have processes of their own, and for MosaicML its guide has a",
        "pool whose processes write; around each other's writer there is one by hand,",
        "`multiprocessing.Pool.imap`, which brings the samples, 16 at once. DSRT's time has its syncs, its",
        "checksums and its digests in it, and that of most others has none. *x DSRT* is DSRT's time by a",
        "system's: above 1 it is faster.",
        "",
    ]
    for figures in results.values():
        columns = [column for count in figures for column in (f"{count} workers", "x DSRT")]
        lines += table.head("system", *columns, words=1)
        for peer in table.systems(figures["0"]):
            alone = figures["0"][peer]
            cells = []
            for systems in figures.values():
                seconds = systems[peer]
                if isinstance(seconds, str) or isinstance(alone, str):
                    cells += [str(seconds), ""]
                else:
                    shown = f"{table.mark(seconds)}{median(seconds):.2f} ({table.ratio(alone, seconds)} x)"
                    cells += [shown, table.less(systems, peer)]
            lines.append(table.row([table.name(peer), *cells]))
    return lines
