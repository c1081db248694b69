"""A transform that keeps a CPU busy: in a loader's threads or processes, or in the consumer."""

from collections.abc import Generator
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks import stamp, sweep, table, timing, transforms
from benchmarks.peer import Transform
from benchmarks.peers import ALL
from benchmarks.store import Store
from benchmarks.suite import Figures, Found, Job, Results, Setting, Tried, attempted
from benchmarks.workload import Batch, Workload
from benchmarks.workloads import WORKLOADS


class Case(NamedTuple):
    """A transform, of what, and in words."""

    workload: Workload
    transform: Transform
    title: str


CASES = {
    "python": Case(
        WORKLOADS["blocks"], transforms.masked, "plain Python, which holds the GIL: tokens are masked"
    ),
    "numba": Case(
        WORKLOADS["photographs"],
        transforms.normalised,
        "numba, which does not hold the GIL: pictures become float32, channels first",
    ),
}
QUICK: tuple[str, ...] = ()
FEW = ("numba",)
SMOKE = tuple(CASES)[:1]
PEERS = ALL
STORES = True
MOST_ROUNDS = 5

_CHECKED = 3


def _store(job: Job) -> Store:
    workload = CASES[job.case].workload
    return Store.of(job, workload.shrunk() if job.smoke else workload)


def _loop(store: Store, case: str, setting: Setting) -> Generator[Batch, None, None]:
    return store.loop(store.open(setting), setting, transform=CASES[case].transform)


def prepare(job: Job) -> Tried:
    """Store, compare what is transformed with the transform of the truth, and try the settings."""
    store = _store(job)
    store.write()

    def rate(setting: Setting, seconds: float) -> float:
        batches = _loop(store, job.case, setting)
        with closing(batches):
            for batch in islice(batches, _CHECKED):
                _check(store.workload, job.case, np.asarray(batch))
            timing.settle(batches.__next__, seconds)
            times = timing.seconds_each(batches.__next__, seconds)
        return timing.rate(times, store.workload.batch)

    loops = sweep.settings(store.peer, "loop")
    return {"loop": sweep.tried_by_steps(store.ways(), loops, rate, sweep.trial(job))}


def _check(workload: Workload, case: str, batch: npt.NDArray[Any]) -> None:
    """Compare a batch with the transform of the samples that it names.

    Raises:
        ValueError: It is another.
    """
    heads = batch if case == "python" else transforms.pictures(batch[:, :, :1, :3])
    numbers = [stamp.number(head) for head in heads]
    truth = CASES[case].transform(np.stack([workload.sample(number) for number in numbers]))
    if len(batch) != workload.batch or not np.array_equal(batch, np.asarray(truth)):
        raise ValueError(f"{case}: a batch is not the transform of the samples {numbers}")


def measure(job: Job) -> Found:
    """Samples a second."""
    store = _store(job)

    def timed() -> Found:
        with closing(_loop(store, job.case, job.setting("loop"))) as batches:
            timing.settle(batches.__next__, job.seconds / 2)
            times = timing.seconds_each(batches.__next__, job.seconds)
        return timing.figures("loop", times, store.workload.batch)

    return attempted("loop", timed)


def report(results: Results, smoke: bool) -> list[str]:
    """A table a transform."""
    lines = [
        "## Transforms",
        "",
        "Each system runs the same function on whole batches where it does that best: *what was tried*,",
        "below, shows the other ways. What comes out is compared with the transform of the truth. *Median*",
        "and *p95* are of the time between batches. The row `machine` is plain C that copies ahead, with",
        "the transform in the consumer, on one core: who has it on more can be above it. DSRT's loader has",
        "threads, and no processes that would run a transform: it runs where the batches are taken.",
    ]
    for case, figures in results.items():
        workload, _, title = CASES[case]
        lines += ["", f"### {title[0].upper()}{title[1:]}", "", workload.heading, "", *_section(figures)]
    return lines


def _section(figures: Figures) -> list[str]:
    return table.rates(figures, "loop", table.times(figures, "loop"))
