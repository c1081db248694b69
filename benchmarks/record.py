"""What a run has found, as it is kept: JSON."""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.peers import FIRST
from benchmarks.suite import Figures, Results, Tried
from benchmarks.sweep import FAILED, UNMEASURED

_TURNS = re.compile(r"(\d+) rounds, (\S+) s a figure")


def turns_told(rounds: int, seconds: float) -> str:
    """How many turns a system has, and the seconds of each figure, as the header of a run has them."""
    return f"{rounds} rounds, {seconds:g} s a figure"


@dataclass
class Record:
    """A run, or several, of which each has added cases to those before it.

    `runs` has the header of each: its command and what it ran on. `systems` has what each peer says of
    itself, or why it is not in this run. `tried` has what was swept: by suite, case and system. `absent` has,
    by the same, why a system has no figure of a whole case. `origin` has, by suite and case, the place in
    `runs` of the one that a case is from.
    """

    runs: list[dict[str, str]]
    smoke: bool
    systems: dict[str, dict[str, str] | str]
    results: dict[str, Results] = field(default_factory=dict)
    tried: dict[str, dict[str, dict[str, Tried]]] = field(default_factory=dict)
    absent: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    origin: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(
        self, suite: str, case: str, figures: Figures, tried: dict[str, Tried], absent: dict[str, str]
    ) -> None:
        """A case that the last of the runs has measured."""
        self.results.setdefault(suite, {})[case] = figures
        self.tried.setdefault(suite, {})[case] = tried
        self.absent.setdefault(suite, {})[case] = absent
        self.origin.setdefault(suite, {})[case] = len(self.runs) - 1

    def figures(self, suite: str, cases: Iterable[str]) -> Results:
        """Of those cases, in that order, that have some."""
        found = self.results.get(suite, {})
        return {case: found[case] for case in cases if found.get(case)}

    def turns(self) -> list[tuple[int, float]]:
        """Rounds and seconds of the runs, each pair once."""
        told = (_TURNS.search(header["run"]) for header in self.runs)
        return list(dict.fromkeys((int(each[1]), float(each[2])) for each in told if each))

    def save(self, path: Path) -> None:
        """As JSON; whatever ends this process or the machine, the file is there whole, or that before it."""
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("w") as file:
            json.dump(asdict(self), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)

    @classmethod
    def read(cls, path: Path) -> "Record":
        """What was saved.

        Raises:
            ValueError: An older version of the benchmarks has kept it, which measured otherwise.
        """
        found = json.loads(path.read_text())
        if "runs" not in found:
            raise ValueError(
                f"{path}: kept by an older version, whose figures are no longer comparable; run anew"
            )
        return cls(**found)

    def failures(self) -> dict[str, str]:
        """Everything that went wrong, by where: what a system says it cannot do is none of it.

        The first of all systems is to be in every case that it is asked for, and to have a figure of all that
        it can. A setting of another system that fails is told where settings are, and that is all: there are
        others.
        """
        found = {
            f"{suite} {case} {peer}": _absence(peer, reason)
            for suite, cases in self.absent.items()
            for case, absent in cases.items()
            for peer, reason in absent.items()
        }
        found |= {
            f"{suite} {case} {work} {peer}": _failure(peer, figure)
            for suite, results in self.results.items()
            for case, figures in results.items()
            for work, systems in figures.items()
            for peer, figure in systems.items()
            if isinstance(figure, str) and peer not in self.absent.get(suite, {}).get(case, {})
        }
        found |= {
            f"{suite} {case} {work} {peer} {setting}": rate
            for suite, cases in self.tried.items()
            for case, peers in cases.items()
            for peer, works in peers.items()
            if peer == FIRST
            for work, attempts in works.items()
            for setting, rate in attempts
            if isinstance(rate, str)
        }
        return {place: reason for place, reason in found.items() if reason.startswith(FAILED)}


def _failure(peer: str, figure: str) -> str:
    return _absence(peer, figure) if UNMEASURED.match(figure) else figure


def _absence(peer: str, reason: str) -> str:
    return reason if peer != FIRST or reason.startswith(FAILED) else FAILED + reason
