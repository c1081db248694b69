"""How far a build is."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["BuildProgress", "Meter", "Report"]

_SECONDS = 0.1


@dataclass(frozen=True)
class BuildProgress:
    """How far a build is.

    Attributes:
        name: The source's.
        done: Samples in the cache so far, those of an earlier run included.
        total: Samples that there will be; None if the source does not say.
        resumed_from: Samples taken over from an earlier run.
        rate: Samples a second that this run makes; None until it has made two.
        seconds_left: At this rate; None if it, or the end, is unknown.
    """

    name: str
    done: int
    total: int | None
    resumed_from: int
    rate: float | None
    seconds_left: float | None


Report: TypeAlias = Callable[[BuildProgress], object]


class Meter:
    """Reports to a function at the beginning, at the end, and at most ten times a second between them."""

    def __init__(self, report: Report, name: str, total: int | None, resumed_from: int) -> None:
        self._report = report
        self._name = name
        self._total = total
        self._resumed_from = resumed_from
        # What comes before the first sample of this run is no part of its rate: processes that start, and
        # samples that are drawn only to be thrown away.
        self._first: float | None = None
        self._due = 0.0
        self.tell(resumed_from)

    def count(self, done: int) -> None:
        """Say that so many samples are in the cache, one more than before."""
        now = time.monotonic()
        if self._first is None:
            self._first = now
        if now >= self._due:
            self.tell(done)

    def tell(self, done: int) -> None:
        """Report, whenever the last report was."""
        now = time.monotonic()
        self._due = now + _SECONDS
        rate = left = None
        made = done - self._resumed_from - 1
        if self._first is not None and made > 0 and now > self._first:
            rate = made / (now - self._first)
        if self._total is not None and done >= self._total:
            left = 0.0
        elif self._total is not None and rate is not None:
            left = (self._total - done) / rate
        self._report(BuildProgress(self._name, done, self._total, self._resumed_from, rate, left))
