"""Loaders by their workers: a setting that fails is a cell, and the others have their figures."""

from pathlib import Path

import pytest

from benchmarks import process
from benchmarks.peer import Cannot
from benchmarks.suite import Figures, Found, Job
from benchmarks.suites import workers as suite

FASTEST = {"layout": {}, "open": {"advice": "random"}, "loop": {"threads": 2}}


def _job(folder: Path) -> Job:
    return Job("memmap", "photographs", folder, folder, 0.1, smoke=True, settings={"fastest": FASTEST})


def test_each_setting_is_measured_alone_as_the_fastest_is_opened_and_may_fail_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def again(name: str, job: Job) -> Found:
        assert name == "workers"
        setting = job.setting("one")
        assert setting["open"] == {"advice": "random"}
        threads = setting["loop"]["threads"]
        if threads == 1:
            raise process.ProcessError("OSError: no more")
        if threads == 2:
            raise Cannot("not two")
        return {f"threads {threads}": 5.0}

    monkeypatch.setattr(process, "again", again)
    assert suite.measure(_job(tmp_path)) == {
        "threads 0": 5.0,
        "threads 1": "failed: OSError: no more",
        "threads 2": "not two",
        "threads 4": 5.0,
    }


def test_a_setting_without_a_figure_has_a_row_and_those_after_it_too() -> None:
    figures: Figures = {
        "threads 0": {"dsrt": "failed: why", "lmdb": "too long"},
        "threads 1": {"dsrt": [100.0, 100.0, 100.0], "lmdb": "too long"},
        "threads 1 median": {"dsrt": [0.002, 0.002, 0.002], "lmdb": "too long"},
        "threads 1 p95": {"dsrt": [0.003, 0.003, 0.003], "lmdb": "too long"},
        "threads 1, first": {"dsrt": [0.5, 0.5, 0.5], "lmdb": "too long"},
        "threads 1, memory": {"dsrt": [7.0, 7.0, 7.0], "lmdb": "too long"},
    }
    rows = suite.report({"photographs": figures}, smoke=True)[-3:]
    assert rows == [
        "| dsrt | threads 0 | failed: why |  |  |  |  |  |  |  |",
        "|  | threads 1 | 100 | +0 % +0 % | 1.00 |  | 2 | 3 | 0.5 | 7 |",
        "| lmdb | too long |  |  |  |  |  |  |  |  |",
    ]


def test_a_setting_is_compared_with_the_fastest_of_ours_and_of_the_machine() -> None:
    figures: Figures = {
        "threads 1": {"dsrt": [100.0] * 3, "lmdb": [50.0, 100.0, 100.0], "machine": [400.0] * 3},
        "threads 2": {"dsrt": [200.0] * 3, "machine": [300.0] * 3},
    }
    rows = suite.report({"photographs": figures}, smoke=True)[-5:]
    shown = [tuple(row.split(" | ")[4:6]) for row in rows]
    assert shown == [
        ("0.50", "0.25"),
        ("1.00", "0.50"),
        ("~0.50", "~0.25"),
        ("2.00", "1.00"),
        ("1.50", "0.75"),
    ]


def test_without_a_figure_of_ours_there_is_nothing_to_compare_with() -> None:
    figures: Figures = {"threads 1": {"dsrt": "failed: why", "lmdb": [50.0] * 3}}
    assert "| lmdb | threads 1 | 50 | +0 % +0 % |  |  |  |  |  |  |" in suite.report(
        {"photographs": figures}, smoke=True
    )
