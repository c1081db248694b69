"""Outcomes counted, and the tables that show them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable

from tests.faults.judge import FAILURES, LABELS
from tests.faults.layout import CHANCES
from tests.faults.pool import Result
from tests.faults.trial import CONTROLS, PATHS

BITES = ("payload", "index", "dictionary", "metadata")
"""Where the control must have silently wrong values."""


class Counts:
    """What became of the cases so far."""

    def __init__(self) -> None:
        self._cases: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._outcomes: Counter[tuple[str, str, str]] = Counter()
        self._rules: Counter[str] = Counter()
        self._looked: Counter[str] = Counter()
        self._digest: dict[str, str] = {}
        self.peak = 0
        self.failed: list[str] = []

    def add(self, result: Result) -> None:
        """Count a case."""
        self._cases[result.region] += 1
        self._kinds[result.kind] += 1
        self.peak = max(self.peak, result.peak)
        for path, outcome in result.paths.items():
            self._outcomes[path, result.region, outcome["label"]] += 1
            if path == "validate":
                self._looked["found" if outcome["rules"] else "sound"] += 1
            if path in PATHS:
                self._rules.update(outcome["rules"].keys())
            if path not in CONTROLS and outcome["failures"]:
                number = f"{'--forged ' if result.request.forged else ''}--case {result.request.case}"
                self.failed.append(
                    f"{number}: {path}: {result.what[:300]}: {json.dumps(outcome['failures'])[:900]}"
                )
        found = json.dumps([(path, one["label"]) for path, one in result.paths.items()])
        key = f"{result.request.forged} {result.request.case}"
        self._digest[key] = f"{key} {result.what} {found}"

    @property
    def digest(self) -> str:
        """A digest of every case and outcome: equal for equal seeds."""
        text = "\n".join(self._digest[key] for key in sorted(self._digest))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def refused(self, path: str) -> int:
        """Return how many cases a path refused, at open or at a read."""
        return sum(
            count for (one, _, label), count in self._outcomes.items() if one == path and label in LABELS[:2]
        )

    def silent(self, control: str) -> dict[str, int]:
        """Return how many silently wrong readings a control had, in each region that must have some."""
        found = dict.fromkeys(BITES, 0)
        for (path, region, label), count in self._outcomes.items():
            if path == control and label == "silently wrong" and (part := region.partition(":")[0]) in found:
                found[part] += count
        return found

    def table(self, regions: Iterable[str], paths: Iterable[str]) -> list[str]:
        """Return a table of outcomes by region and path."""
        regions, paths = list(regions), list(paths)
        lines = [f"{'':24}{'':>7}  " + "  ".join(f"{path[:20]:>20}" for path in paths)]
        lines.append(f"{'region':24}{'cases':>7}  " + "  ".join(f"{'open   read   none':>20}" for _ in paths))
        for region in regions:
            cells = [
                "".join(f"{self._outcomes[path, region, label]:>7}" for label in LABELS)[1:] for path in paths
            ]
            lines.append(f"{region:24}{self._cases[region]:>7}  " + "  ".join(cells))
        sums = [
            "".join(f"{sum(self._outcomes[path, one, label] for one in regions):>7}" for label in LABELS)[1:]
            for path in paths
        ]
        lines.append(f"{'all':24}{sum(self._cases[one] for one in regions):>7}  " + "  ".join(sums))
        return lines

    def failures(self, regions: Iterable[str], paths: Iterable[str]) -> str:
        """Return, in one line, how often what must not be was."""
        regions, paths = set(regions), set(paths)
        parts = []
        for label in FAILURES:
            count = sum(
                number
                for (path, region, found), number in self._outcomes.items()
                if found == label and path in paths and region in regions
            )
            parts.append(f"{label} {count}")
        return ", ".join(parts)

    def regions(self, *, forged: bool) -> list[str]:
        """Return the regions that were met, in a fixed order."""
        order = [*CHANCES, "several"]
        met = [region for region in self._cases if region.startswith("forged") == forged]
        return sorted(met, key=lambda region: (order.index(region) if region in order else 99, region))

    def kinds(self) -> str:
        """Return how often each kind of fault was made."""
        return ", ".join(f"{kind} {count}" for kind, count in self._kinds.most_common())

    def rules(self) -> str:
        """Return how many readings were refused by each rule."""
        return ", ".join(f"{rule} {count}" for rule, count in sorted(self._rules.items()))

    def validated(self) -> str:
        """Return how many caches the validators looked at."""
        return f"{self._looked.total()} looked at, damage found in {self._looked['found']}"
