import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import process, process_tree, reading, sweep
from benchmarks.command import chosen, plan
from benchmarks.peer import Cannot, load
from benchmarks.peers import ALL, FULL, QUICK, memmap
from benchmarks.store import Store
from benchmarks.suite import Figures, Found, Job, Results
from benchmarks.suites import SUITES, build, cold, core, first, train, write
from benchmarks.workloads import WORKLOADS


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_names_cases_and_systems_that_there_are(name: str) -> None:
    suite = SUITES[name]
    assert {*suite.QUICK, *suite.SMOKE} <= set(suite.CASES)
    assert suite.SMOKE
    assert suite.PEERS
    assert set(suite.PEERS) <= set(ALL)


def test_a_name_is_a_suite_or_a_workload() -> None:
    assert chosen(["verify"], full=False, smoke=False) == {"verify": list(SUITES["verify"].CASES)}
    found = chosen(["tokens-zstd"], full=False, smoke=False)
    assert {"read", "write", "verify"} <= set(found)
    assert all(cases == ["tokens-zstd"] for cases in found.values())


@pytest.mark.parametrize(
    ("workload", "cases"),
    [
        ("photographs", {"train": ["gpu", "cpu"], "transform": ["numba"], "workers": ["photographs"]}),
        ("blocks", {"transform": ["python"], "read": ["blocks"]}),
        ("tiny", {"size": list(SUITES["size"].CASES), "overhead": ["batch-1"]}),
        ("table", {"memory": list(SUITES["memory"].CASES)}),
    ],
)
def test_a_workload_is_every_case_that_is_made_of_it(workload: str, cases: dict[str, list[str]]) -> None:
    assert plan([workload]).cases.items() >= cases.items()


def test_a_suite_and_a_case_are_that_case_of_that_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(["read", "tokens"]).cases == {"read": ["tokens"]}
    with pytest.raises(SystemExit):
        plan(["sampler", "tokens"])
    assert "sampler tokens: none of these suites has a case of that name" in capsys.readouterr().err


def test_full_adds_systems_and_cases() -> None:
    assert plan([]).peers == QUICK
    assert plan(["full"]).peers == QUICK + FULL
    assert plan(["full"]).cases == {name: list(suite.CASES) for name, suite in SUITES.items()}


def test_a_quick_run_starts_the_workers_of_torch_in_every_way() -> None:
    assert plan([]).cases["workers"]
    ways = {config.get("method") for config in load("torch").SWEEP["workers"]}
    assert ways >= {"fork", "spawn", "forkserver"}


def test_a_run_says_how_to_repeat_it() -> None:
    assert plan(["full", "--rounds", "3"]).command == "nox -s bench -- full --rounds 3"
    assert plan([]).command == "nox -s bench"


def test_names_and_options_come_in_any_order() -> None:
    assert plan(["full", "--rounds", "3", "read", "--cores", "1000", "tokens"]).cases == {"read": ["tokens"]}


def test_a_run_under_a_real_time_priority_is_not_published(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(["full", "--publish"]).publish
    monkeypatch.setattr(os, "sched_getparam", lambda _: os.sched_param(1))
    assert not plan(["full"]).publish
    with pytest.raises(SystemExit):
        plan(["full", "--publish"])
    assert "--publish is for the usual scheduling" in capsys.readouterr().err


def test_an_unknown_name_is_refused_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        plan(["tokns"])
    assert "no such suite or workload: tokns; there are read, " in capsys.readouterr().err


@pytest.mark.parametrize(
    "refused", [["--smoke", "--continue"], ["--smoke", "--publish"], ["--peer", "lmdb", "--publish"]]
)
def test_what_would_spoil_a_record_or_the_page_is_refused(refused: list[str]) -> None:
    with pytest.raises(SystemExit):
        plan(refused)


def test_what_a_turn_of_verification_fails_at_is_reported() -> None:
    failed: Results = {"records": {"bytes": {"dsrt": "failed: it broke"}}}
    assert SUITES["verify"].report(failed, smoke=False)[-1] == "dsrt: failed: it broke"


def _rows(suite: str, case: str, figures: Figures) -> list[list[str]]:
    """The cells of what a report has of a faster system than ours, or of one that needs less."""
    lines = SUITES[suite].report({case: figures}, smoke=False)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if "lmdb" in row]


_WRITTEN = tuple(f"{way} {figure}" for way in ("samples", "batches") for figure in ("memory", "cpu", "disk"))
_PRESENT = {"cold": ("touched",), "write": ("samples stored", "batches stored")}
"""The figures of a suite that say which systems have rows."""


@pytest.mark.parametrize(
    ("suite", "case", "works", "less"),
    [
        ("first", "records", ("open", "first", "second", "batch"), True),
        ("size", "1e4-samples", ("open",), True),
        ("size", "1e4-samples", ("gather", "loop"), False),
        ("memory", "10,000-rows", ("peak",), True),
        ("build", "busy", ("0", "1", "2"), True),
        ("cold", "records", ("seconds", "in order"), True),
        ("read", "tokens", ("gather", "loop"), False),
        ("samples", "tokens", ("own", "rows", "in order"), False),
        ("core", "tokens-zstd", ("gather",), False),
        ("train", "gpu", ("train",), False),
        ("transform", "numba", ("loop",), False),
        ("workers", "photographs", ("threads 2",), False),
        ("write", "tokens", _WRITTEN, True),
    ],
)
def test_whoever_is_faster_or_needs_less_than_ours_or_than_the_machine_is_above_1(
    suite: str, case: str, works: tuple[str, ...], less: bool
) -> None:
    ours, limit, theirs = ([4.0] * 3, [8.0] * 3, [1.0] * 3) if less else ([2.0] * 3, [1.0] * 3, [8.0] * 3)
    figures: Figures = {work: {"dsrt": ours, "machine": limit, "lmdb": theirs} for work in works}
    for work in _PRESENT.get(suite, ()):
        figures[work] = {"lmdb": [1.0] * 3}
    cells = [cell for row in _rows(suite, case, figures) for cell in row]
    assert cells.count("4.00") == len(works)
    beside = "machine" in SUITES[suite].PEERS and suite != "first"  # that has four figures a row
    assert cells.count("8.00") == len(works) * beside


def test_cold_reads_have_their_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    read = iter((0, 1 << 10, 3 << 20, 4 << 20))
    monkeypatch.setattr(cold, "evict", lambda _: None)
    monkeypatch.setattr(cold, "disk_bytes", lambda: next(read))
    store = Store.of(_job("records", "touched", tmp_path), cold.CASES["records"].shrunk())
    store.write()
    found = cold._cold(store, {})
    assert (found["opening"], found["read"]) == (1 << 10, (3 << 20) - (1 << 10))
    figures: Figures = {work: {"lmdb": [figure] * 3} for work, figure in found.items()}
    ((_, _, shown, _, _, opening, *_),) = _rows("cold", "records", figures)
    assert (shown, opening) == ("3", "1")


def _job(case: str, work: str, folder: Path) -> Job:
    return Job("memmap", case, folder, folder, 0.1, smoke=True, settings={work: {}})


def test_a_failure_to_read_in_order_keeps_the_random_reads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object) -> float:
        raise Cannot("pages stay")

    monkeypatch.setattr(cold, "_cold", lambda *_: {"touched": 1.0})
    monkeypatch.setattr(cold, "_in_order", fails)
    found = cold.measure(_job("records", "touched", tmp_path))
    assert found == {"touched": 1.0, "in order": "pages stay"}


def test_what_can_be_gathered_is_read_in_order_by_its_stream_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cold, "evict", lambda _: None)
    tried = cold.prepare(_job("records", "none", tmp_path))
    ways = {sweep.told(setting) for setting, _ in tried["in order"]}
    assert {"advice none, read in batches", "advice none, read sample by sample"} <= ways
    assert not [reason for _, reason in tried["in order"] if isinstance(reason, str)]


def test_a_time_of_cold_reads_has_the_opening_in_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened = memmap.open

    def slow(*args: Any, **config: Any) -> memmap.Mapped:
        time.sleep(0.1)
        return opened(*args, **config)

    monkeypatch.setattr(cold, "evict", lambda _: None)
    job = _job("records", "touched", tmp_path)
    tried = cold.prepare(job)
    monkeypatch.setattr(memmap, "open", slow)
    best = {work: sweep.best(attempts) for work, attempts in tried.items()}
    found = cold.measure(replace(job, settings=best))
    samples = cold.CASES["records"].shrunk().samples
    assert float(found["seconds"]) * (samples // cold.SHARE) >= 0.1
    assert float(found["in order"]) * samples >= 0.1


def test_writing_reads_back_some_of_every_setting_and_all_of_the_fastest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checked: list[tuple[str, int | None]] = []

    def writes(_: object, __: object, folder: Path, seconds: float) -> None:
        time.sleep(seconds)
        (folder / "written").write_text(str(seconds))

    def checks(_: object, __: object, folder: Path, ___: object, batches: int | None = None) -> None:
        checked.append(((folder / "written").read_text(), batches))

    monkeypatch.setattr(memmap, "SWEEP", {"write": [{"seconds": seconds} for seconds in (0.1, 0.0, 0.2)]})
    monkeypatch.setattr(memmap, "write", writes)
    monkeypatch.setattr(memmap, "write_batches", writes)
    monkeypatch.setattr(write, "check", checks)
    tried = write.prepare(_job("records", "none", tmp_path))
    some = write.CHECKED_BATCHES
    assert checked == [("0.1", some), ("0.0", some), ("0.2", some), ("0.0", None)] * 2
    assert [len(attempts) for attempts in tried.values()] == [3, 3]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["lance", "litdata", "mosaicml", "parquet"])
def test_a_layout_that_is_a_choice_for_reading_is_tried_where_writing_is_measured(name: str) -> None:
    try:
        swept = load(name).SWEEP
    except ImportError as reason:
        pytest.skip(str(reason))
    assert swept["write"] == swept["layout"]


def test_a_first_batch_is_tried_in_one_process_and_of_close_settings_in_two_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[int] = []
    seconds = {0: 1.0, 1: 0.9, 2: 5.0}

    def again(_: str, job: Job) -> Found:
        asked.append(job.setting("one")["loop"]["threads"])
        assert first.measure(job).keys() == {"first"}
        return {"first": seconds[asked[-1]]}

    checked: list[object] = []
    monkeypatch.setattr(memmap, "SWEEP", {"loop": [{"threads": threads} for threads in seconds]})
    monkeypatch.setattr(Store, "check_loop", lambda *_: checked.append("checked"))
    monkeypatch.setattr(process, "again", again)
    tried = first.prepare(_job("records", "none", tmp_path))
    assert asked == [0, 1, 2, 0, 0, 1, 1]
    assert len(checked) == 3
    assert sweep.best(tried["first"])["loop"] == {"threads": 1}


def test_memory_in_steady_state_is_that_after_a_loader_has_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    held = [1.0]

    def loop(*_: object, **__: object) -> Iterator[np.ndarray]:
        for held[0] in (1.0, 90.0, 10.0):
            time.sleep(0.1)
        while True:
            yield np.zeros(1)

    monkeypatch.setattr(Store, "open", lambda *_: None)
    monkeypatch.setattr(Store, "loop", loop)
    monkeypatch.setattr(process_tree, "private", lambda: held[0])
    monkeypatch.setattr(train, "STEP", 0.001)
    found = train.measure(replace(_job("gpu", "train", tmp_path), seconds=0.02))
    assert (found["steady"], found["peak"]) == (10.0, 90.0)


def test_what_was_built_is_read_back_when_no_clock_runs_any_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[str] = []
    monkeypatch.setattr(memmap, "build", lambda *_: done.append("built"))
    monkeypatch.setattr(build, "check", lambda *_: done.append("checked"))
    found = build.measure(_job("busy", "none", tmp_path))
    assert list(found) == ["0", "1", "2"]
    assert done == ["built"] * 3 + ["checked"] * 3


def test_a_system_that_gathers_nothing_is_read_in_order_by_its_stream(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def gather(*_: object) -> None:
        raise Cannot("streams only")

    monkeypatch.setattr(cold, "evict", lambda _: None)
    monkeypatch.setattr(memmap, "gather", gather)
    job = _job("records", "none", tmp_path)
    tried = cold.prepare(job)
    assert {reason for _, reason in tried["touched"]} == {"streams only"}
    best = {work: sweep.best(attempts) for work, attempts in tried.items()}
    assert "samples" in best["in order"]
    found = cold.measure(replace(job, settings=best))
    assert found["touched"] == "streams only"
    assert not isinstance(found["in order"], str)


def test_reading_on_one_core_keeps_to_one_before_anything_is_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[object] = []

    def opened(*_: object) -> Found:
        done.append("opened")
        return {"gather": 1.0}

    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: done.append(len(cores)))
    monkeypatch.setattr(reading, "warm_gather", opened)
    assert core.measure(_job("records", "gather", tmp_path)) == {"gather": 1.0}
    assert done == [1, "opened"]


def test_a_gather_is_warmed_all_over_its_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[np.ndarray] = []

    def gather(_: object, numbers: np.ndarray) -> np.ndarray:
        asked.append(numbers)
        return numbers

    monkeypatch.setattr(Store, "open", lambda *_: None)
    monkeypatch.setattr(memmap, "gather", gather)
    workload = replace(WORKLOADS["records-512"], samples=100_000, batch=64)
    found = reading.warm_gather(Store(load("memmap"), workload, tmp_path), {}, 0.0)
    assert not isinstance(found["gather"], str)
    every = list(range(0, 100_000, 128))
    assert np.concatenate(asked)[: len(every)].tolist() == every
