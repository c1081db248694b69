"""How a target is answered from the figures of a run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

from benchmarks import table
from benchmarks.peers import FIRST, MACHINE
from benchmarks.record import Record
from benchmarks.sweep import UNMEASURED


@dataclass
class Asked:
    """A run that is asked for figures, and whether one of them was uncertain."""

    record: Record
    uncertain: bool = False


Value: TypeAlias = Callable[[Asked], float]


class NotRun(Exception):
    """The figure was not part of this run, or was not to be had in it."""


class NoRival(Exception):
    """The other system says that it cannot do it."""


@dataclass(frozen=True)
class Answer:
    """What a run says about a target; with a `mark`, `~`, it is uncertain.

    Met is so with any figure that is uncertain, missed only if each that misses is.
    """

    state: Literal["met", "missed", "not run", "no answer"]
    figure: str
    mark: str = ""


@dataclass(frozen=True, eq=False)
class Target:
    """A figure to reach, or several, of which the worst decides; `values` are by where they are measured."""

    title: str
    reach: float
    values: Mapping[str, Value]
    at_most: bool = False
    unit: str = "x"

    def answer(self, record: Record) -> Answer:
        """Met if all are, missed if one is; no answer where a figure is missing that was to be measured."""
        found: dict[str, float] = {}
        marks: dict[str, str] = {}
        missing: list[str] = []
        for name, value in self.values.items():
            asked = Asked(record)
            try:
                found[name] = value(asked)
                marks[name] = "~" * asked.uncertain
            except NotRun as reason:
                missing.append(str(reason))
            except NoRival:
                continue
            except LookupError as reason:
                return Answer("no answer", str(reason))
        if not found:
            return Answer("not run", missing[0] if missing else "no other system can")
        worst = (max if self.at_most else min)(found, key=found.__getitem__)
        figure = f"{marks[worst]}{table.digits(found[worst])} {self.unit}"
        if len(self.values) > 1:
            figure += f" ({worst})"
        short = [name for name, each in found.items() if not self._reached(each)]
        if short:
            return Answer("missed", figure, min(marks[name] for name in short))
        if missing:
            return Answer("not run", f"{missing[0]}; so far {figure}")
        return Answer("met", figure, max(marks.values()))

    def _reached(self, found: float) -> bool:
        return found <= self.reach if self.at_most else found >= self.reach


def figure(asked: Asked, suite: str, case: str, work: str, peer: str = FIRST) -> float:
    """A median; raises what `rounds` raises."""
    found = rounds(asked, suite, case, work, peer)
    asked.uncertain |= bool(table.mark(found))
    return median(found)


def rounds(asked: Asked, suite: str, case: str, work: str, peer: str = FIRST) -> list[float]:
    """The figures of all turns.

    Raises:
        NotRun: The case or the system was not in this run, another system failed or took too long, or this
            machine lacks what it needs.
        NoRival: Another system says that it cannot.
        LookupError: There is none although there should be.
    """
    record = asked.record
    if record.smoke:
        raise NotRun("a smoke run has no figures")
    if case not in record.results.get(suite, {}):
        raise NotRun(f"{suite} {case}")
    if not isinstance(record.systems.get(peer), dict):
        raise NotRun(table.name(peer))
    found = record.results[suite][case].get(work, {}).get(peer)
    if found is None and peer != FIRST:
        raise NotRun(f"{suite} {case} with {table.name(peer)}")
    if isinstance(found, str) and peer != FIRST:
        if peer == MACHINE or UNMEASURED.match(found):
            raise NotRun(f"{suite} {case} with {table.name(peer)}: {found}")
        raise NoRival(found)
    if isinstance(found, str) and not UNMEASURED.match(found):
        raise NotRun(found)
    if not found or isinstance(found, str):
        raise LookupError(f"{suite} {case}: there is no figure of {peer} for {work}: {found}")
    return found


def ours_by_theirs(suite: str, case: str, work: str, theirs: str) -> Value:
    """Our rate, or time, or memory by another's."""
    return lambda asked: figure(asked, suite, case, work) / figure(asked, suite, case, work, theirs)


def theirs_by_ours(suite: str, case: str, work: str, theirs: str) -> Value:
    """The same the other way round."""
    return lambda asked: figure(asked, suite, case, work, theirs) / figure(asked, suite, case, work)


def own(suite: str, case: str, work: str, scale: float = 1) -> Value:
    """A figure of ours."""
    return lambda asked: scale * figure(asked, suite, case, work)


def part(suite: str, case: str, work: str, of: str) -> Value:
    """A figure of ours by another one of ours."""
    return lambda asked: figure(asked, suite, case, work) / figure(asked, suite, case, of)


def growth(suite: str, work: str, few: str, many: str) -> Value:
    """A figure of ours in one case by the same in another."""
    return lambda asked: figure(asked, suite, few, work) / figure(asked, suite, many, work)
