"""End to end, a loop that trains: how long does it wait for data, and what does the loader hold?"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks import reading, sweep, table, timing
from benchmarks.peers import ALL
from benchmarks.store import Store
from benchmarks.suite import Figures, Found, Job, Results, Setting, Tried, attempted
from benchmarks.workload import Batch, Workload
from benchmarks.workloads import WORKLOADS


class Case(NamedTuple):
    """A step of training, in words, and what it is given."""

    workload: Workload
    title: str


WORKLOAD = WORKLOADS["photographs"]
CASES = {
    "gpu": Case(WORKLOAD, "a step that leaves the CPU alone for 20 ms, as one on a GPU does"),
    "cpu": Case(
        WORKLOAD,
        "a step of torch on one thread of the CPU: every pixel of a coarser picture, forward and backward",
    ),
}
QUICK = ("gpu",)
FEW = ("cpu",)
SMOKE = tuple(CASES)[:1]
PEERS = ALL
STORES = True
MOST_ROUNDS = 5

STEP = 0.020  # seconds
LONG = 2  # times as long as elsewhere are settings tried, for these batches take longer

Step = Callable[[Batch], object]


def _sleep(batch: Batch) -> object:
    timing.touch(batch)
    time.sleep(STEP)
    return None


def _torch() -> Step:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(56 * 56 * 3, 64), torch.nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

    def step(batch: Batch) -> object:
        coarse = np.ascontiguousarray(np.asarray(batch)[:, ::4, ::4])
        loss = model(torch.from_numpy(coarse).float()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def _step(case: str) -> Step:
    return _sleep if case == "gpu" else _torch()


def _store(job: Job) -> Store:
    return Store.of(job, WORKLOAD.shrunk() if job.smoke else WORKLOAD)


def prepare(job: Job) -> Tried:
    """Store, compare with the truth, and try the settings with the step."""
    store, step = _store(job), _step(job.case)
    store.write()

    def rate(setting: Setting, seconds: float) -> float:
        batches = store.loop(store.open(setting), setting)
        with closing(batches):
            store.check_loop(batches)
            timing.settle(batches.__next__, seconds)
            return float(_trained(store, batches, step, seconds)["train"])

    loops = sweep.settings(store.peer, "loop")
    return {"train": sweep.tried_by_steps(store.ways(), loops, rate, LONG * sweep.trial(job))}


def measure(job: Job) -> Found:
    """Samples a second, the share of the time that was waited and the wait for a batch, and MiB."""
    store, step = _store(job), _step(job.case)

    def trained(batches: Iterator[Batch], seconds: float) -> Found:
        return _trained(store, batches, step, seconds)

    def watched() -> Found:
        found, steady, peak = reading.watched(store, job.setting("train"), trained, job.seconds)
        return {**found, "steady": steady, "peak": peak}

    return attempted("train", watched)


def _trained(store: Store, batches: Iterator[Batch], step: Step, seconds: float) -> Found:
    waits: list[float] = []
    began = time.perf_counter()
    while not waits or not timing.enough(len(waits), time.perf_counter() - began, seconds):
        asked = time.perf_counter()
        batch = next(batches)
        waits.append(time.perf_counter() - asked)
        step(batch)
    passed = time.perf_counter() - began
    figures = {"train": len(waits) * store.workload.batch / passed, "waited": sum(waits) / passed}
    return {**figures, **timing.middle_and_late("wait", waits)}


def report(results: Results, smoke: bool) -> list[str]:
    """A table a kind of step."""
    lines = [
        "## Training",
        "",
        f"{WORKLOAD.heading}, in batches of {WORKLOAD.batch}. *Waited* is the share of the time that the",
        "loop spent in asking for batches; *wait* is the time that it asked for one: the median and the 95th",
        "percentile. *Own memory* is that of all processes with all that they import. The row `machine` is",
        "plain C that copies ahead in threads.",
    ]
    for case, figures in results.items():
        title = CASES[case].title
        lines += ["", f"### {title[0].upper()}{title[1:]}", "", *_section(figures)]
    return lines


def _section(figures: Figures) -> list[str]:
    def memory(peer: str) -> str:
        found = (table.middle(figures, which, peer) for which in ("steady", "peak"))
        return ", at most ".join(filter(None, found))

    waited = partial(table.middle, figures, "waited", scale=100)
    waits = {f"wait, {column}": cell for column, cell in table.times(figures, "wait").items()}
    return table.rates(figures, "train", {"waited, %": waited, **waits, "own memory, MiB": memory})
