"""What a run has found, as it is kept: JSON."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.peers import FIRST
from benchmarks.suite import Results, Tried
from benchmarks.sweep import FAILED


@dataclass
class Record:
    """A run.

    `systems` has what each peer says of itself, or why it is not in this run. `tried` has what was swept: by
    suite, case and system.
    """

    header: dict[str, str]
    smoke: bool
    systems: dict[str, dict[str, str] | str]
    results: dict[str, Results] = field(default_factory=dict)
    tried: dict[str, dict[str, dict[str, Tried]]] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, path: Path) -> "Record":
        """What was saved."""
        return cls(**json.loads(path.read_text()))

    def failures(self) -> dict[str, str]:
        """Everything that went wrong, by where: what a system says it cannot do is none of it.

        A setting of another system that fails is told where settings are, and that is all: there are others.
        """
        found = {
            f"{suite} {case} {work} {peer}": figure
            for suite, results in self.results.items()
            for case, figures in results.items()
            for work, systems in figures.items()
            for peer, figure in systems.items()
            if isinstance(figure, str)
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
