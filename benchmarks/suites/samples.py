"""One sample after another, without batches, as a script sees them that looks at each."""

from collections import deque
from collections.abc import Generator
from contextlib import closing
from functools import partial
from itertools import islice

import numpy as np
import numpy.typing as npt

from benchmarks import sweep, table, timing
from benchmarks.peer import optional
from benchmarks.peers import FIRST, SYSTEMS
from benchmarks.store import Store, sized
from benchmarks.suite import Found, Job, Results, Setting, Tried
from benchmarks.workloads import READ

CASES = {name: READ[name] for name in ("images", "records", "tokens")}
QUICK: tuple[str, ...] = ()
FEW = ("images", "records")
SMOKE = ("tokens",)
PEERS = SYSTEMS
STORES = True
MOST_ROUNDS = 100


def _own(store: Store) -> bool:
    return hasattr(store.peer, "samples")


def _samples(store: Store, setting: Setting) -> Generator[npt.NDArray[np.generic], None, None]:
    handle = store.open(setting)
    if _own(store):
        yield from optional(store.peer, "samples")(handle, seed=0, **setting["samples"])
    with closing(store.loop(handle, setting)) as batches:
        for batch in batches:
            yield from batch


def _rate(store: Store, setting: Setting, seconds: float, check: bool = False) -> float:
    count = store.workload.batch
    with closing(_samples(store, setting)) as samples:
        if check:
            store.check_loop(iter(lambda: list(islice(samples, count)), None))

        def step() -> npt.NDArray[np.generic]:
            (last,) = deque(islice(samples, count), maxlen=1)
            return last

        timing.settle(step, seconds / 2 if not check else seconds)
        return timing.rate(timing.seconds_each(step, seconds), count)


def prepare(job: Job) -> Tried:
    """Store, check, and try the settings."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()
    choices = sweep.settings(store.peer, "open", "samples" if _own(store) else "loop")
    return {"samples": sweep.tried(choices, partial(_rate, store, check=True), sweep.trial(job))}


def measure(job: Job) -> Found:
    """Samples a second."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    return {"samples": _rate(store, job.setting("samples"), job.seconds)}


def report(results: Results, smoke: bool) -> list[str]:
    """A table of all."""
    lines = [
        "## One sample after another",
        "",
        "Shuffled, by the iteration that a system has for it; without one, the rows of its batches.",
        "",
        *table.head("case", "system", "samples/s", "spread", "x DSRT"),
    ]
    for case, figures in results.items():
        systems = figures.get("samples", {})
        for peer in table.systems(systems):
            cells = [sized(CASES, case, smoke).title, table.name(peer)]
            rates = systems[peer]
            if isinstance(rates, str):
                cells += [rates, "", ""]
            else:
                ratio = table.ratio(rates, systems.get(FIRST))
                cells += [table.count(rates), table.spread(rates), ratio]
            lines.append(table.row(cells))
    return lines
