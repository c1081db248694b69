"""Every system at its best: its settings are tried, all are printed, and the fastest is used."""

import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product

from benchmarks.peer import Cannot, Peer
from benchmarks.suite import Job, Setting

FAILED = "failed: "
"""Begins the reason of a figure that is not there although it should be."""

UNMEASURED = re.compile(rf"{FAILED}|not within |no answer within |would take |\d+ pages of its files ")
"""Begins a reason that is not that a system cannot: it failed, took too long, or was not kept in memory."""

TRIAL = 0.2
"""Seconds that a setting is timed for, at least, after a warm-up that is as long; see `trial`."""

CLOSE, LONGER = 0.8, 2
"""The best two are tried again, so many times as long, if the second has this share of the first's rate."""

PATIENCE = 60
"""Seconds for a setting, with its start and the comparison of what it delivers."""


def settings(peer: Peer, *functions: str) -> list[Setting]:
    """Every combination of what these functions of a peer are swept over."""
    ways = (peer.SWEEP.get(function, [{}]) for function in functions)
    return [
        dict(zip(functions, (dict(config) for config in configs), strict=True)) for configs in product(*ways)
    ]


def trial(job: Job) -> float:
    """The seconds of a trial, by those of a figure."""
    return job.seconds if job.smoke else max(job.seconds / 4, TRIAL)


def tried(
    choices: Iterable[Setting], rate: Callable[[Setting, float], float], seconds: float = 0
) -> list[tuple[Setting, float | str]]:
    """Each setting with its rate over so many seconds, or the reason why it has none.

    The best two are tried again, for longer, where it is not plain which of them it is. That rate counts, and
    so the best of all is then one that was tried again.
    With 0 seconds `rate` takes the time that its work takes, and each is tried once.
    """
    found = _once(choices, rate, seconds)
    return _again(found, rate, seconds) if seconds else found


def tried_by_steps(
    ways: Sequence[Setting],
    configs: Sequence[Setting],
    rate: Callable[[Setting, float], float],
    seconds: float,
) -> list[tuple[Setting, float | str]]:
    """Every config on the first of the ways to store and open, and the fastest of them on the others.

    As in `tried`, the best two of all of them are tried again.
    """
    found = _once([ways[0] | config for config in configs], rate, seconds)
    fastest = best(found)
    if not isinstance(fastest, str):
        found += _once([fastest | way for way in ways[1:]], rate, seconds)
    return _again(found, rate, seconds)


def _once(
    choices: Iterable[Setting], rate: Callable[[Setting, float], float], seconds: float
) -> list[tuple[Setting, float | str]]:
    return [(setting, _attempt(partial(rate, setting, seconds))) for setting in choices]


def _again(
    found: list[tuple[Setting, float | str]], rate: Callable[[Setting, float], float], seconds: float
) -> list[tuple[Setting, float | str]]:
    found, again = list(found), set[int]()
    while due := _fastest(found, any_lead=bool(again)) - again:
        again |= due
        for number in sorted(due):
            setting, _ = found[number]
            found[number] = setting, _attempt(partial(rate, setting, LONGER * seconds))
    return found


def _fastest(found: list[tuple[Setting, float | str]], *, any_lead: bool) -> set[int]:
    """Places of the best two, if the second is close; else of the best, where any lead counts, or of none."""
    rates = {number: rate for number, (_, rate) in enumerate(found) if not isinstance(rate, str)}
    first, second = [*sorted(rates, key=lambda number: -rates[number]), None, None][:2]
    if first is not None and second is not None and rates[second] >= CLOSE * rates[first]:
        return {first, second}
    return {first} if any_lead and first is not None else set()


def _attempt(rate: Callable[[], float]) -> float | str:
    try:
        with _patience():
            return rate()
    except Cannot as reason:
        return str(reason)
    except Exception as error:  # whatever another's software does belongs into its cell
        traceback.print_exc(file=sys.stderr)
        return failure(error)


@contextmanager
def _patience() -> Iterator[None]:
    def late(*_: object) -> None:
        raise Cannot(f"not within {PATIENCE} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)


def failure(error: BaseException) -> str:
    """An error in a cell: its last line."""
    text = str(error).strip().splitlines()
    return f"{FAILED}{type(error).__name__}: {text[-1] if text else ''}"[:200]


def best(attempts: Iterable[tuple[Setting, float | str]]) -> Setting | str:
    """The fastest setting; where none has a rate, the reason."""
    rated = [(rate, setting) for setting, rate in attempts if not isinstance(rate, str)]
    if rated:
        return max(rated, key=lambda each: each[0])[1]
    return gravest(reason for _, reason in attempts if isinstance(reason, str))


def gravest(reasons: Iterable[str]) -> str:
    """The first that is not what the system cannot do, if there is one; else the first."""
    return min(reasons, key=lambda reason: not UNMEASURED.match(reason))


def told(setting: Setting) -> str:
    """A setting in a report."""
    values = {name: value for config in setting.values() for name, value in config.items()}
    return ", ".join(f"{name} {value}" for name, value in values.items()) or "as it is"
