"""Every system at its best: its settings are tried, all are printed, and the fastest is used."""

import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import product

from benchmarks.peer import Cannot, Peer
from benchmarks.suite import Setting

FAILED = "failed: "
"""Begins the reason of a figure that is not there although it should be."""

PATIENCE = 60
"""Seconds for a setting, with its start and the comparison of what it delivers."""


def settings(peer: Peer, *functions: str) -> list[Setting]:
    """Every combination of what these functions of a peer are swept over."""
    ways = (peer.SWEEP.get(function, [{}]) for function in functions)
    return [
        dict(zip(functions, (dict(config) for config in configs), strict=True)) for configs in product(*ways)
    ]


def tried(choices: Iterable[Setting], rate: Callable[[Setting], float]) -> list[tuple[Setting, float | str]]:
    """Each setting with its rate, or the reason why it has none."""
    found: list[tuple[Setting, float | str]] = []
    for setting in choices:
        try:
            with _patience():
                found.append((setting, rate(setting)))
        except Cannot as reason:
            found.append((setting, str(reason)))
        except Exception as error:  # whatever another's software does belongs into its cell
            traceback.print_exc(file=sys.stderr)
            found.append((setting, failure(error)))
    return found


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
    """The fastest setting; where none has a rate, the first reason."""
    rated = [(rate, setting) for setting, rate in attempts if not isinstance(rate, str)]
    if rated:
        return max(rated, key=lambda each: each[0])[1]
    return next(reason for _, reason in attempts if isinstance(reason, str))


def told(setting: Setting) -> str:
    """A setting in a report."""
    values = {name: value for config in setting.values() for name, value in config.items()}
    return ", ".join(f"{name} {value}" for name, value in values.items()) or "as it is"
