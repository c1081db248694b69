"""What a suite of measurements is: a module under benchmarks/suites."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from benchmarks.peer import Cannot

Found: TypeAlias = dict[str, float | str]
"""work -> figure of one turn, or why the system cannot do it."""

Setting: TypeAlias = dict[str, dict[str, Any]]
"""function of a peer -> its `config`."""

Tried: TypeAlias = dict[str, list[tuple[Setting, float | str]]]
"""work -> every setting that was tried, and its rate (the higher the better) or why there is none."""

Figures: TypeAlias = dict[str, dict[str, list[float] | str]]
"""work -> system -> figures of all turns, or why the system cannot do it."""

Results: TypeAlias = dict[str, Figures]
"""By case."""


@dataclass(frozen=True)
class Job:
    """What one process does: a single system on a single case.

    `folder` is the system's own for this case; it is made by `prepare` and stays until the case is over.
    `stores` has what the system has stored, which stays for other cases of the same workload. `settings` is
    by work, and what the sweep in `prepare` found to be the fastest.
    """

    peer: str
    case: str
    folder: Path
    stores: Path
    seconds: float
    smoke: bool
    settings: dict[str, Setting | str] = field(default_factory=dict)

    def setting(self, work: str) -> Setting:
        """The fastest for this work.

        Raises:
            Cannot: None of them worked.
        """
        found = self.settings.get(work, {})
        if isinstance(found, str):
            raise Cannot(found)
        return found


def attempted(work: str, measure: Callable[[], Found]) -> Found:
    """What is measured, or for this work the reason why the system cannot."""
    try:
        return measure()
    except Cannot as reason:
        return {work: str(reason)}


class Suite(Protocol):
    """A module under benchmarks/suites."""

    STORES: bool
    """Whether it reads the workloads of its cases from stores, which are written before it prepares."""

    MOST_ROUNDS: int
    """More rounds than this say nothing new."""

    @property
    def PEERS(self) -> tuple[str, ...]:
        """The systems that it is about."""

    @property
    def CASES(self) -> Mapping[str, Any]:
        """What is measured one after another, by name."""

    @property
    def QUICK(self) -> tuple[str, ...]:
        """Those of the cases that a quick run has; none where it takes too long."""

    @property
    def FEW(self) -> tuple[str, ...]:
        """Those of the cases that only the systems of a quick run have: they say little new about others."""

    @property
    def SMOKE(self) -> tuple[str, ...]:
        """Those that a smoke run has."""

    def prepare(self, job: Job) -> Tried:
        """What precedes the first turn: store, compare with the truth, and try the settings.

        Raises:
            Cannot: The system can do nothing of this case.
        """

    def measure(self, job: Job) -> Found:
        """One turn."""

    def report(self, results: Results, smoke: bool) -> list[str]:
        """Lines of Markdown."""
