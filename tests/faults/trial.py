"""One case through every path, in the process that calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import dsrt_native
from dsrt_format import validate
from dsrt_format.validate import Problem
from tests.faults.caches import Specimen
from tests.faults.careless import checks_off
from tests.faults.fault import Bench, Fault
from tests.faults.judge import Judge
from tests.faults.mutate import changes
from tests.faults.read_loader import read_loader
from tests.faults.read_native import Native
from tests.faults.read_reference import read_reference
from tests.faults.truth import Truth

Read = Callable[[Path, Truth, Judge], None]

PATHS: dict[str, Read] = {
    "reference": read_reference,
    "mmap": Native("mmap"),
    "pread": Native("pread"),
    "loader": read_loader,
}

_careless = Native("mmap", verify=False)


def _unchecked(path: Path, known: Truth, judge: Judge) -> None:
    with checks_off():
        read_reference(path, known, judge)


CONTROLS: dict[str, Read] = {"reference, nothing compared": _unchecked, "mmap, verify=False": _careless}


class Trial:
    """One case on a bench, ready to be read."""

    def __init__(self, of: Specimen, made: Fault, bench: Bench) -> None:
        self.made = made
        self._of = of
        self._bench = bench

    def __enter__(self) -> Trial:
        self._bench.apply(self.made.edits)
        return self

    def __exit__(self, *_: object) -> None:
        self._bench.revert(self.made.edits)

    def read(self, path: str) -> dict[str, Any]:
        """Read by a path, or by a control, and return the outcome as JSON has it."""
        is_control = path in CONTROLS
        judge = Judge(
            str(self._bench.path), self._of.truths[self.made.build], self.made.place(), lenient=is_control
        )
        (CONTROLS if is_control else PATHS)[path](self._bench.path, self._of.truths[self.made.build], judge)
        return outcome(judge)

    def validate(self) -> dict[str, Any]:
        """Have both validators look, and compare what they say with what was done and with each other."""
        judge = Judge(str(self._bench.path), self._of.truths[self.made.build])
        damage = _validated(self._bench.path, judge)
        if damage is not None and bool(damage) != (changed := changes(self._of, self.made)):
            judge.fail("unreported", f"the bytes are {'others' if changed else 'the same'}, found {damage}")
        return outcome(judge)


def _validated(path: Path, judge: Judge) -> list[Problem] | None:
    """Return the problems but for warnings, once both validators agree on all; None where that failed."""
    found = None
    with judge.attempt("validate"):
        found = validate(path, level="digests")
    if found is None:
        return None
    with judge.attempt("verify"):
        again = dsrt_native.verify(path, level="digests")
        mine, theirs = list(map(_place, found)), list(map(_place, again))
        if mine != theirs:
            detail = f"only validate: {_beyond(mine, theirs)}, only verify: {_beyond(theirs, mine)}"
            judge.fail("disagreement", detail)
    damage = [problem for problem in found if not problem.is_warning]
    judge.rules.update(problem.rule for problem in damage)
    return damage


def _beyond(some: list[Any], others: list[Any]) -> list[Any]:
    """Return what is in one list more often than in the other; all of it if they differ in order only."""
    return list((Counter(some) - Counter(others)).elements()) or some


def outcome(judge: Judge) -> dict[str, Any]:
    """Return what is known of a reading as JSON has it."""
    return {
        "label": judge.label,
        "rules": dict(judge.rules),
        "failures": judge.failures,
    }


def _place(problem: Problem) -> tuple[Any, ...]:
    return problem.rule, problem.cache, problem.field, problem.shard, problem.sample, problem.kind


def read_forged(path: str, at: Path, of: Specimen) -> Judge:
    """Read a forged cache by a path. What its bytes mean is right; the paths are compared afterwards."""
    judge = Judge(str(at), None)
    PATHS[path](at, of.truths["new"], judge)
    return judge


def disagreements(judges: dict[str, Judge]) -> list[str]:
    """Return what one path read and another read otherwise or refused."""
    found = []
    for (first, one), (second, other) in combinations(judges.items(), 2):
        for key in one.seen.keys() & other.seen.keys():
            if one.seen[key] != other.seen[key]:
                found.append(f"{key}: {first} {one.seen[key]!r:.200} {second} {other.seen[key]!r:.200}")
        for reader, refuser in ((one, other), (other, one)):
            keys = reader.seen.keys() & refuser.refused.keys() - reader.refused.keys()
            found += [
                f"{key}: {first}, {second}: one reads, the other finds {refuser.refused[key]}" for key in keys
            ]
    return found


def validate_forged(at: Path, judges: dict[str, Judge]) -> dict[str, Any]:
    """Have both validators look at a forged cache: they agree, and find something where a reader refused."""
    judge = Judge(str(at), None)
    damage = _validated(at, judge)
    refused = {path: dict(one.rules) for path, one in judges.items() if one.label.startswith("refused")}
    if damage == [] and refused:
        judge.fail("unreported", f"sound for the validator, refused by {refused}")
    return outcome(judge)
