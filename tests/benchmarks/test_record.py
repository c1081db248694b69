"""A report says what it is not, and which run each of its figures is from."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks import coverage, table
from benchmarks.machine import commit, versions
from benchmarks.peers import ALL
from benchmarks.record import Record
from benchmarks.report import markdown
from benchmarks.suites import SUITES

SAID = {"versions": "", "reads": "", "writes": ""}


def _all() -> Record:
    results: Any = {name: {case: {} for case in suite.CASES} for name, suite in SUITES.items()}
    return Record([{"run": "one"}], False, dict.fromkeys(ALL, SAID), results)


def test_a_complete_full_run_lacks_nothing() -> None:
    assert list(coverage.missing(_all())) == []


def test_what_is_missing_is_named_suites_cases_and_systems() -> None:
    record = _all()
    del record.results["write"]
    del record.results["read"]["tokens"]
    record.systems |= {"torch": "does not install"}
    told = "\n".join(coverage.missing(record))
    assert "not a complete full run" in told
    assert "- suites: write\n- of `read`: tokens\n- systems: torch" in told


@pytest.mark.parametrize(
    ("told", "fewer"),
    [
        ("5 rounds, 1.0 s a figure", False),
        ("5 rounds, 1 s a figure", False),
        ("9 rounds, 2 s a figure", False),
        ("3 rounds, 1 s a figure", True),
        ("5 rounds, 0.3 s a figure", True),
    ],
)
def test_fewer_rounds_or_shorter_turns_than_a_full_run_has_are_told(told: str, fewer: bool) -> None:
    record = _all()
    record.runs[0]["run"] = f"2026-11-30 22:18 UTC, `nox -s bench -- full`, {told}"
    head = "\n".join(coverage.missing(record))
    assert (f"than a full run's** (5 rounds, 1 s a figure): {told}." in head) == fewer
    assert bool(head) == fewer


def test_systems_that_are_not_in_a_case_are_named_under_its_suite() -> None:
    record = Record([{"run": "one"}], False, {**dict.fromkeys(("dsrt", "lmdb", "hdf5"), SAID), "lance": "no"})
    record.add("read", "images", {"gather": {"dsrt": [1.0], "lmdb": "no codec"}}, {}, {})
    record.add("read", "records", {"gather": {"dsrt": [1.0], "lmdb": [1.0]}}, {}, {})
    record.add("read", "tokens", {"gather": {"dsrt": [1.0], "lmdb": [1.0]}, "loop": {"hdf5": [1.0]}}, {}, {})
    assert [line for line in coverage.absent(record, "read") if line] == [
        "*Not measured in `images`, `records`: hdf5; name the case to have them (`full images`).*"
    ]


def test_a_suite_that_the_others_can_do_nothing_of_does_not_say_how_to_have_them() -> None:
    record = Record([{"run": "one"}], False, dict.fromkeys(("dsrt", "lmdb", "hdf5"), SAID))
    record.add("sampler", "1e6", {"uniform": {"dsrt": [1.0], "lmdb": "no adapter here"}}, {}, {})
    assert list(coverage.absent(record, "sampler")) == []


def test_a_suite_about_some_systems_says_that_it_is_about_no_other() -> None:
    record = Record([{"run": "one"}], False, dict.fromkeys(("dsrt", "lmdb", "machine"), SAID))
    record.add("verify", "images", {"bytes": {"dsrt": [1.0]}}, {}, {})
    told = ["", "*Of dsrt alone: this suite is about no other system.*"]
    assert list(coverage.absent(record, "verify")) == told


def test_each_run_has_its_own_header_and_each_case_its_run() -> None:
    record = Record([{"run": "one", "load": "1.00", "cpu": "this"}], False, {})
    record.add("read", "tokens", {}, {}, {})
    record.runs.append({"run": "two", "load": "9.00", "cpu": "this"})
    record.add("read", "images", {}, {}, {})
    told = [line for line in coverage.headers(record) if line]
    assert told == [
        "Run 1:",
        "- run: one",
        "- load: 1.00",
        "- cpu: this",
        "Run 2:",
        "- run: two",
        "- load: 9.00",
    ]
    assert "*Cases of run 1: tokens; of run 2: images.*" in coverage.origin(record, "read")


def test_of_a_single_run_no_case_says_where_it_is_from() -> None:
    record = Record([{"run": "one"}], False, {})
    record.add("read", "tokens", {}, {}, {})
    assert list(coverage.headers(record)) == ["- run: one"]
    assert list(coverage.origin(record, "read")) == []


def test_how_to_repeat_a_run_is_said_with_its_commit_and_all_commands_in_order() -> None:
    def run(command: str, **commit: str) -> dict[str, str]:
        return {"run": f"2026-11-30 22:18 UTC, `{command}`, 3 rounds, 1 s a figure", **commit}

    runs = [run("nox -s bench -- full", commit="abc"), run("nox -s bench -- cold --continue", commit="abc")]
    told = (
        "To repeat it, check out commit `abc` and run `nox -s bench -- full` and then `nox -s bench -- cold"
    )
    assert coverage.repeat(Record(runs, False, {})) == f"{told} --continue`."
    assert f"{told} --continue`. It needs" in markdown(Record(runs, False, {}), [], "", "")
    runs[1]["commit"] = "def-dirty"
    assert coverage.repeat(Record(runs, False, {})) == (
        "To repeat it, check out commit `abc` and run `nox -s bench -- full`, then check out commit `def` "
        "(there with changes that it has not) and run `nox -s bench -- cold --continue`."
    )
    assert coverage.repeat(Record([run("nox -s bench")], False, {})) == "To repeat it, run `nox -s bench`."


def test_each_version_of_a_package_is_said_once() -> None:
    found = versions("dsrt-native 1, numpy 2", "dsrt-native 1", "grain 3, numpy 2", "numpy 1")
    assert found == "dsrt-native 1, numpy 2, grain 3, numpy 1"


def test_a_record_that_cannot_be_finished_leaves_that_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "run.json"
    record = Record([{"run": "one"}], False, {})
    record.add("read", "tokens", {"gather": {"dsrt": [1.0]}}, {}, {})
    record.save(kept)

    def full(_: int) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "fsync", full)
    later = Record([{"run": "two"}], False, {})
    with pytest.raises(OSError, match="no room"):
        later.save(kept)
    assert Record.read(kept) == record


def test_a_record_of_an_older_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"header": {}, "smoke": False, "systems": {}}))
    with pytest.raises(ValueError, match="older version"):
        Record.read(tmp_path / "run.json")


@pytest.mark.parametrize(
    ("figures", "mark"),
    [([9, 10, 12], ""), ([9, 10, 12.1], "~"), ([7.9, 10, 10], "~"), ([10, 10], "~"), ([10], "~")],
)
def test_a_figure_is_marked_where_a_round_is_far_off_or_there_are_few_and_so_is_a_ratio_to_it(
    figures: list[float], mark: str
) -> None:
    assert table.count(figures) == f"{mark}10"
    assert table.middle({"work": {"dsrt": figures}}, "work", "dsrt") == f"{mark}10"
    assert table.ratio([20.0] * 3, figures) == f"{mark}2.00"
    assert table.ratio(figures, [20.0] * 3) == f"{mark}0.50"
    assert table.ratio(figures, figures) == "1.00"


def test_a_ratio_to_nothing_is_none_and_a_small_one_is_not_0() -> None:
    assert table.ratio([1.0] * 3, [0.0] * 3) == ""
    assert table.ratio([1.0] * 3, [250.0] * 3) == "0.004"


def test_what_takes_less_than_ours_is_above_1() -> None:
    systems = {"dsrt": [2.0] * 3, "lmdb": [1.0] * 3, "torch": [4.0, 4.0], "grain": "cannot"}
    assert [table.less(systems, peer) for peer in systems] == ["1.00", "2.00", "~0.50", ""]
    assert table.less({"lmdb": [1.0] * 3}, "lmdb") == ""


def test_the_spread_of_few_rounds_says_of_how_many() -> None:
    assert table.spread([9.0, 10.0, 11.0]) == "-10 % +10 %"
    assert table.spread([9.0, 11.0]) == "-10 % +10 % (2 rounds)"
    assert table.spread([9.0]) == "+0 % +0 % (1 round)"


def test_the_commit_is_said_or_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(commit()) <= {"commit"}
    monkeypatch.setenv("PATH", "")
    assert commit() == {}
