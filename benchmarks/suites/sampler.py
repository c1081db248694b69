"""Draws of row numbers, without any reading: permuted, uniform and weighted."""

import time
from collections.abc import Callable
from functools import cache, partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks import sweep, table
from benchmarks.peer import Numbers, Peer, load, optional
from benchmarks.peers import FIRST, SYSTEMS
from benchmarks.suite import Figures, Found, Job, Results, Setting, Tried, attempted

CASES = {f"{rows:.0e}".replace("+0", ""): rows for rows in (10**6, 10**8)}
QUICK = ("1e6",)
FEW = tuple(CASES)  # no other has a sampler
SMOKE = ("1e6",)
PEERS = SYSTEMS
STORES = False
MOST_ROUNDS = 3

BATCH = 256
SMOKE_ROWS = 10_000
ONE = "weighted, a call a batch"
WORKS = ("permuted", "uniform", "weighted", ONE)

Draw: TypeAlias = Callable[[], Numbers]

_CHECKED = 400_000  # draws, at most
_SPREAD = 6  # standard deviations
_TITLES = {
    "permuted": "each row once an epoch",
    "uniform": "with replacement",
    "weighted": "by weight, with replacement",
    ONE: "by weight, no batches ahead",
}


def _rows(case: str, smoke: bool) -> int:
    return SMOKE_ROWS if smoke else CASES[case]


@cache
def _weights(rows: int) -> npt.NDArray[np.float64]:
    # Far from equal, and every tenth row has none.
    weights = np.random.default_rng(7).standard_exponential(rows)
    weights[::10] = 0
    return weights


def _settings(peer: Peer, work: str) -> list[Setting]:
    # Only weighted draws can be made for many batches at once, and not where one is asked for.
    return [
        setting
        for setting in sweep.settings(peer, "draw")
        if work == "weighted" or setting["draw"].get("ahead", 1) == 1
    ]


def _drawing(peer: Peer, work: str, rows: int, setting: Setting) -> Callable[[], Draw]:
    order = "weighted" if work == ONE else work
    weights = _weights(rows) if order == "weighted" else None
    config = setting.get("draw", {})
    return partial(optional(peer, "draw"), order, rows, BATCH, weights=weights, seed=3, **config)


def prepare(job: Job) -> Tried:
    """Try the settings, after what each draws was found to be what was asked for."""
    peer, rows = load(job.peer), _rows(job.case, job.smoke)

    def rate(work: str, setting: Setting, seconds: float) -> float:
        make = _drawing(peer, work, rows, setting)
        _check(work, rows, make())
        return _rate(work, rows, make, seconds)[0]

    return {work: sweep.tried(_settings(peer, work), partial(rate, work), sweep.trial(job)) for work in WORKS}


def measure(job: Job) -> Found:
    """Draws a second, and the seconds until the first batch is drawn."""
    peer, rows = load(job.peer), _rows(job.case, job.smoke)

    def drawn(work: str) -> Found:
        make = _drawing(peer, work, rows, job.setting(work))
        rate, first = _rate(work, rows, make, job.seconds)
        return {work: rate, f"{work}, first": first}

    found: Found = {}
    for work in WORKS:
        found |= attempted(work, partial(drawn, work))
    return found


def _rate(work: str, rows: int, make: Callable[[], Draw], seconds: float) -> tuple[float, float]:
    began = time.perf_counter()
    draw = make()
    draw()
    first = time.perf_counter() - began
    count, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds or not count:
        # The clock is not asked after each: a draw may take a microsecond.
        for _ in range(16):
            draw()
        count += 16
    drawn = count * BATCH
    if work == "permuted" and drawn < rows:
        # What was prepared is good for one epoch, and is prepared for each again.
        return rows / (first + passed * rows / drawn), first
    return drawn / passed, first


def _check(work: str, rows: int, draw: Draw) -> None:
    """Look at whole batches of draws.

    Raises:
        ValueError: They are not what the order promises.
    """
    batches = min(rows, _CHECKED) // BATCH
    drawn = np.concatenate([np.array(draw()) for _ in range(batches)])
    if len(drawn) != batches * BATCH or drawn.min() < 0 or drawn.max() >= rows:
        raise ValueError(f"{work}: {len(drawn)} draws from {drawn.min()} to {drawn.max()} of {rows} rows")
    if work == "permuted":
        if len(np.unique(drawn)) < len(drawn) or (drawn[1:] > drawn[:-1]).mean() > 0.6:
            raise ValueError("permuted: a row came twice in an epoch, or rows came in order")
        return
    if work == "uniform":
        _check_mean(work, drawn / rows, 1 / 2, 1 / 3)
        return
    weights = _weights(rows)
    if not weights[drawn].all():
        raise ValueError(f"{work}: a row without weight was drawn")
    # What is drawn by weight has a mean place and a mean weight that follow from the weights.
    for value in (weights, np.arange(rows) / rows):
        mean, square = (float(np.dot(weights, each)) / weights.sum() for each in (value, value * value))
        _check_mean(work, value[drawn], mean, square)


def _check_mean(work: str, values: npt.NDArray[np.float64], mean: float, square: float) -> None:
    deviation = np.sqrt((square - mean * mean) / len(values))
    if abs(values.mean() - mean) > _SPREAD * deviation:
        raise ValueError(f"{work}: a mean of {values.mean()} and not of about {mean}")


def report(results: Results, smoke: bool) -> list[str]:
    """A table a number of rows."""
    lines = [
        "## Drawing",
        "",
        f"Million draws a second in batches of {BATCH}, of row numbers alone. *First* is the time from",
        "nothing to the first batch, in which some prepare a permutation or weights. Where one epoch takes",
        "longer than the measurement, the time to prepare its permutation is in the rate, as it recurs.",
        "Every tenth row has no weight, those of others are far from equal, and draws are checked for it.",
    ]
    for case, figures in results.items():
        lines += ["", f"### {_rows(case, smoke):,} rows", "", *_section(figures)]
    return lines


def _section(figures: Figures) -> list[str]:
    lines = table.head("order", "system", "million/s", "spread", "x DSRT", "first, ms")
    for work, title in _TITLES.items():
        systems = figures.get(work, {})
        for place, peer in enumerate(table.systems(systems)):
            cells = ["" if place else f"{work}: {title}", table.name(peer)]
            rates = systems[peer]
            if isinstance(rates, str):
                lines.append(table.row([*cells, rates, "", "", ""]))
                continue
            cells += [table.middle(figures, work, peer, 1e-6), table.spread(rates)]
            cells += [table.ratio(rates, systems.get(FIRST))]
            lines.append(table.row([*cells, table.middle(figures, f"{work}, first", peer, 1e3)]))
    return lines
