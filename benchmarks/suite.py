"""What a suite of measurements is: a module under benchmarks/suites."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

Found: TypeAlias = dict[str, float | str]
"""work -> figure of one turn, or why the system cannot do it."""

Results: TypeAlias = dict[str, dict[str, dict[str, list[float] | str]]]
"""case -> work -> system -> figures of all turns, or why the system cannot do it."""


@dataclass(frozen=True)
class Job:
    """What one process does: a single system on a single case.

    `folder` is the system's own for this case; it is made by `prepare` and stays until the case is over.
    """

    peer: str
    case: str
    folder: Path
    seconds: float
    smoke: bool


class Suite(Protocol):
    """A module under benchmarks/suites."""

    MOST_ROUNDS: int
    """More rounds than this say nothing new."""

    @property
    def CASES(self) -> Iterable[str]:
        """What is measured one after another, by name."""

    def prepare(self, job: Job) -> None:
        """What precedes the first turn: store, and compare with the truth what is not compared in turns."""

    def measure(self, job: Job) -> Found:
        """One turn."""

    def report(self, results: Results, smoke: bool) -> list[str]:
        """Lines of Markdown."""
