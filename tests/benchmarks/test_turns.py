"""What a system cannot do in a case, or fails at, is never lost, also where no system has a figure."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import process, turns
from benchmarks.command import plan
from benchmarks.record import Record
from benchmarks.report import markdown
from benchmarks.suite import Job
from benchmarks.suites import SUITES

SAID = {"versions": "", "reads": "", "writes": ""}
ABOUT_ONE = [name for name, suite in SUITES.items() if suite.PEERS == ("dsrt",)]


def _taken(
    monkeypatch: pytest.MonkeyPatch, suite: str, answers: dict[str, Any], smoke: bool = False
) -> Record:
    """A case, with what the processes of each system answer; an error is one that ends without an answer."""

    def run(peer: str, action: str, *_: str, patience: float) -> Any:
        found = answers[peer].get(action)
        if isinstance(found, list):
            found = found.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(process, "RESULTS", Path("nowhere"))
    planned = replace(plan(["--smoke"] if smoke else []), rounds=2)
    case = SUITES[suite].SMOKE[0]
    found = turns.taken(suite, case, Path("folder"), Path("stores"), list(answers), planned)
    record = Record([{"run": "`nox -s bench`"}], smoke, dict.fromkeys(answers, SAID))
    record.add(suite, case, *found)
    return record


BROKE = process.ProcessError("it broke")
TRIED: Any = {"gather": [({}, 1.0)], "loop": [({}, 1.0)]}
WORKS: Any = {"prepare": TRIED, "measure": {"gather": 3.0, "loop": 4.0}}


def test_figures_of_all_rounds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    record = _taken(monkeypatch, "read", {"dsrt": WORKS, "lmdb": WORKS})
    assert record.results["read"]["native"]["gather"] == {"dsrt": [3.0, 3.0], "lmdb": [3.0, 3.0]}
    assert record.failures() == {}


@pytest.mark.parametrize("suite", [*ABOUT_ONE, "read", "write", "memory"])
@pytest.mark.parametrize("smoke", [True, False])
def test_a_crash_of_the_first_is_a_failure_and_the_report_names_it(
    suite: str, smoke: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"dsrt": {"store": BROKE, "prepare": BROKE, "both": BROKE}}
    record = _taken(monkeypatch, suite, answers, smoke)
    assert record.failures() == {f"{suite} {SUITES[suite].SMOKE[0]} dsrt": "failed: it broke"}
    assert "dsrt: failed: it broke" in markdown(record, [], "", "")


def test_that_the_first_cannot_is_a_failure_and_that_another_cannot_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = _taken(monkeypatch, "memory", {"dsrt": {"prepare": "no rows"}, "lmdb": {"prepare": "no rows"}})
    assert record.failures() == {"memory 10,000-rows dsrt": "failed: no rows"}


def test_a_case_that_none_of_those_asked_for_can_do_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    record = _taken(monkeypatch, "memory", {"lmdb": {"prepare": "no adapter here"}})
    assert record.failures() == {}
    assert "There is no figure of `10,000-rows`. lmdb: no adapter here" in markdown(record, [], "", "")


def test_a_turn_that_fails_is_a_failure_once_and_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaks = {"prepare": TRIED, "measure": [{"gather": 3.0, "loop": 4.0}, BROKE]}
    record = _taken(monkeypatch, "read", {"dsrt": WORKS, "lmdb": breaks})
    for work in ("gather", "loop"):
        assert record.results["read"]["native"][work]["lmdb"] == "failed: it broke"
        assert len(record.results["read"]["native"][work]["dsrt"]) == 2
    assert record.failures() == {"read native lmdb": "failed: it broke"}


def test_a_system_that_only_a_full_run_has_gets_a_dozen_seconds_of_a_case_at_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 1000, 5))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    planned = replace(plan(["read"]), rounds=9)
    found: dict[str, int] = {}

    def answer(action: str, _: str, job: Job, __: float) -> Any:
        if action == "prepare":
            return TRIED
        found[job.peer] = found.get(job.peer, 0) + (action == "measure")
        return {"gather": 1.0} if action == "measure" else None

    monkeypatch.setattr(turns, "_answer", answer)
    turns.taken("read", "native", Path("folder"), Path("stores"), ["dsrt", "lance"], planned)
    assert found == {"dsrt": 6, "lance": 3}  # of five seconds each


def test_what_is_not_stored_is_not_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = {"store": "would take 900 s to write", "prepare": BROKE}
    record = _taken(monkeypatch, "read", {"dsrt": WORKS, "lmdb": lacking})
    assert record.results["read"]["native"]["gather"]["lmdb"] == "would take 900 s to write"
    assert record.failures() == {}
