"""One sample after another, without batches, as a script sees them that looks at each."""

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from itertools import islice

from benchmarks import sweep, table, timing
from benchmarks.peer import Array, optional
from benchmarks.peers import ALL
from benchmarks.store import Store, sized
from benchmarks.suite import Found, Job, Results, Setting, Tried, attempted
from benchmarks.workloads import READ

CASES = {name: READ[name] for name in ("images", "records", "tokens")}
QUICK: tuple[str, ...] = ()
FEW = ("images", "records")
SMOKE = ("tokens",)
PEERS = ALL
STORES = True
MOST_ROUNDS = 100

_OWN, _ROWS, _IN_ORDER = "own", "rows", "in order"
_ORDERS = {
    _OWN: "shuffled, its own way",
    _ROWS: "shuffled, rows of its loader's batches",
    _IN_ORDER: "as stored, its own way",
}


def _samples(store: Store, work: str, setting: Setting) -> Generator[Array, None, None]:
    handle = store.open(setting)
    if work == _ROWS:
        with closing(store.loop(handle, setting)) as batches:
            for batch in batches:
                yield from batch
    else:
        own = optional(store.peer, "samples")
        yield from own(handle, seed=0, shuffled=work == _OWN, **setting.get("samples", {}))


def _times(store: Store, work: str, setting: Setting, seconds: float, *, check: bool = False) -> list[float]:
    """Of as many samples as a batch has, each."""
    count = store.workload.batch
    with closing(_samples(store, work, setting)) as samples:
        if check:
            _check(store, work, samples)

        def step() -> Array:
            (last,) = deque(islice(samples, count), maxlen=1)
            return last

        timing.settle(step, seconds if check else seconds / 2)
        return timing.seconds_each(step, seconds)


def _check(store: Store, work: str, samples: Iterator[Array]) -> None:
    count = store.workload.batch
    if work != _IN_ORDER:
        store.check_loop(iter(lambda: list(islice(samples, count)), None), form="list")
    elif store.workload.check(list(islice(samples, count))) != list(range(count)):
        raise ValueError(f"{store.workload.name}: the first {count} samples are not in order")


def prepare(job: Job) -> Tried:
    """Store, check, and try the settings."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))
    store.write()
    ways, seconds = store.ways(), sweep.trial(job)

    def tried(work: str) -> list[tuple[Setting, float | str]]:
        def rate(setting: Setting, seconds: float) -> float:
            return timing.rate(_times(store, work, setting, seconds, check=True), store.workload.batch)

        configs = sweep.settings(store.peer, "loop" if work == _ROWS else "samples")
        return sweep.tried_by_steps(ways, configs, rate, seconds)

    return {work: tried(work) for work in _ORDERS}


def measure(job: Job) -> Found:
    """Samples a second and times of a batch's worth: in each order, and the faster shuffled rate."""
    store = Store.of(job, sized(CASES, job.case, job.smoke))

    def figures(work: str) -> Found:
        return timing.figures(work, _times(store, work, job.setting(work), job.seconds), store.workload.batch)

    found: Found = {}
    for work in _ORDERS:
        found |= attempted(work, partial(figures, work))
    return found | {"samples": _faster(found[_OWN], found[_ROWS])}


def _faster(own: float | str, rows: float | str) -> float | str:
    return max((each for each in (own, rows) if not isinstance(each, str)), default=rows)


def report(results: Results, smoke: bool) -> list[str]:
    """A table of all."""
    lines = [
        "## One sample after another",
        "",
        "*Its own way* is how a system reads single samples without batches that anyone sees: shuffled, or",
        "from the first sample to the last. *Rows of its loader's batches* are the samples of a shuffled",
        "loader, batch after batch. The picture has the faster of a system's two shuffled ways in each turn.",
        "Of the targets one has that, *its faster way*, one its own way shuffled, and one that as stored.",
        "*Median* and *p95* are of the time of a sample, each time that of as many as a batch has, by their",
        "number. The row `machine` is plain C that copies some into a buffer, and NumPy's rows of that.",
        "",
        *table.head(
            "case", "order", "system", "samples/s", "spread", *table.RATIOS, "median, us", "p95, us", words=3
        ),
    ]
    for case, figures in results.items():
        workload = sized(CASES, case, smoke)
        for work, order in _ORDERS.items():
            systems = figures.get(work, {})
            times = table.times(figures, work, scale=1e6 / workload.batch)
            for peer in table.systems(systems):
                cells = [workload.title, order, table.name(peer)]
                rates = systems[peer]
                if isinstance(rates, str):
                    cells += [rates, *[""] * 5]
                else:
                    cells += [table.count(rates), table.spread(rates), *table.ratios(systems, peer)]
                    cells += [cell(peer) for cell in times.values()]
                lines.append(table.row(cells))
    return lines
