"""One sample after another, without batches, as a script sees them that looks at each."""

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from itertools import islice

from benchmarks import sweep, table, timing
from benchmarks.peer import Array, optional
from benchmarks.peers import FIRST, SYSTEMS
from benchmarks.store import Store, sized
from benchmarks.suite import Found, Job, Results, Setting, Tried, attempted
from benchmarks.workloads import READ

CASES = {name: READ[name] for name in ("images", "records", "tokens")}
QUICK: tuple[str, ...] = ()
FEW = ("images", "records")
SMOKE = ("tokens",)
PEERS = SYSTEMS
STORES = True
MOST_ROUNDS = 100

_IN_ORDER = "in order"
_WORK = {"samples": "shuffled", _IN_ORDER: "as stored"}


def _samples(store: Store, setting: Setting, shuffled: bool) -> Generator[Array, None, None]:
    handle = store.open(setting)
    if "samples" in setting:
        own = optional(store.peer, "samples")
        yield from own(handle, seed=0, shuffled=shuffled, **setting["samples"])
    with closing(store.loop(handle, setting)) as batches:
        for batch in batches:
            yield from batch


def _rate(store: Store, work: str, setting: Setting, seconds: float, *, check: bool = False) -> float:
    count = store.workload.batch
    with closing(_samples(store, setting, work != _IN_ORDER)) as samples:
        if check:
            _check(store, work, samples)

        def step() -> Array:
            (last,) = deque(islice(samples, count), maxlen=1)
            return last

        timing.settle(step, seconds if check else seconds / 2)
        return timing.rate(timing.seconds_each(step, seconds), count)


def _check(store: Store, work: str, samples: Iterator[Array]) -> None:
    count = store.workload.batch
    if work != _IN_ORDER:
        store.check_loop(iter(lambda: list(islice(samples, count)), None))
    elif store.workload.check(list(islice(samples, count))) != list(range(count)):
        raise ValueError(f"{store.workload.name}: the first {count} samples are not in order")


def _configs(store: Store, work: str) -> list[Setting]:
    own = sweep.settings(store.peer, "samples")
    if work == _IN_ORDER:
        return own
    rows = sweep.settings(store.peer, "loop")
    return own + rows if hasattr(store.peer, "samples") else rows


def prepare(job: Job) -> Tried:
    """Store, check, and try the settings."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()
    ways, seconds = store.ways(), sweep.trial(job)
    return {
        work: sweep.tried_by_steps(
            ways, _configs(store, work), partial(_rate, store, work, check=True), seconds
        )
        for work in _WORK
    }


def measure(job: Job) -> Found:
    """Samples a second."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))

    def rate(work: str) -> Found:
        return {work: _rate(store, work, job.setting(work), job.seconds)}

    found: Found = {}
    for work in _WORK:
        found |= attempted(work, partial(rate, work))
    return found


def report(results: Results, smoke: bool) -> list[str]:
    """A table of all."""
    lines = [
        "## One sample after another",
        "",
        "*Shuffled* is a system's own way to read single samples, or the rows of its loader's batches,",
        "whichever is faster: *what was tried*, below, shows both. *As stored* is its own iteration from the",
        "first sample to the last, which has no batches that anyone sees.",
        "",
        *table.head("case", "order", "system", "samples/s", "spread", "x DSRT", words=3),
    ]
    for case, figures in results.items():
        for work, order in _WORK.items():
            systems = figures.get(work, {})
            for peer in table.systems(systems):
                cells = [sized(CASES, case, smoke).title, order, table.name(peer)]
                rates = systems[peer]
                if isinstance(rates, str):
                    cells += [rates, "", ""]
                else:
                    ratio = table.ratio(rates, systems.get(FIRST))
                    cells += [table.count(rates), table.spread(rates), ratio]
                lines.append(table.row(cells))
    return lines
