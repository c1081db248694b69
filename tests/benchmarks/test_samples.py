"""Single samples, one after another, pass after pass."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import memmap
from benchmarks.suite import Job, Setting
from benchmarks.suites import samples as suite
from benchmarks.workload import Workload
from tests.benchmarks.test_workload import DENSE, TOKENS


@pytest.mark.parametrize("workload", [DENSE, TOKENS], ids=lambda each: each.name)
def test_each_pass_has_every_sample_once_as_stored_or_in_an_order_of_its_own(
    workload: Workload, tmp_path: Path
) -> None:
    few = replace(workload, samples=20)
    memmap.write(few, few.all(), tmp_path)
    handle = memmap.open(few, tmp_path)
    stored = few.check(list(islice(memmap.samples(handle, seed=0, shuffled=False), 40)))
    assert stored == [*range(20), *range(20)]
    shuffled = list(few.check(list(islice(memmap.samples(handle, seed=0, shuffled=True), 40))))
    assert sorted(shuffled[:20]) == sorted(shuffled[20:]) == list(range(20))
    assert shuffled[:20] != shuffled[20:]


def test_advice_to_the_kernel_changes_nothing_that_is_read(tmp_path: Path) -> None:
    few = replace(DENSE, samples=20)
    memmap.write(few, few.all(), tmp_path)
    handle = memmap.open(few, tmp_path, advice="random")
    assert few.check(memmap.gather(handle, np.array([7, 3]))) == [7, 3]


def _job(folder: Path, **settings: Setting | str) -> Job:
    return Job("memmap", "records", folder / "job", folder, 0.01, smoke=True, settings={**settings})


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    (tmp_path / "job").mkdir()
    suite.prepare(_job(tmp_path))
    return tmp_path


def test_the_faster_of_the_two_shuffled_ways_is_the_figure_of_samples(stored: Path) -> None:
    found = suite.measure(_job(stored))
    rates = {work: rate for work, rate in found.items() if not isinstance(rate, str)}
    works = ("own", "rows", "in order")
    times = {f"{work} {which}" for work in works for which in ("median", "p95")}
    assert set(rates) == {*works, *times, "samples"}
    assert rates["samples"] == max(rates["own"], rates["rows"])


def test_without_a_way_of_its_own_the_rows_are_the_figure_of_samples(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(memmap, "samples")
    found = suite.measure(_job(stored))
    assert found["own"] == found["in order"] == "no adapter here"
    assert found["samples"] == found["rows"]
    assert not isinstance(found["rows"], str)


def test_samples_has_a_reason_only_where_neither_way_has_a_figure(stored: Path) -> None:
    rows = suite.measure(_job(stored, rows="no loader"))
    assert rows["rows"] == "no loader"
    assert rows["samples"] == rows["own"]
    neither = suite.measure(_job(stored, own="in order only", rows="no loader"))
    assert neither["samples"] == "no loader"
    assert not isinstance(neither["in order"], str)


def test_settings_are_tried_by_the_way_that_they_are_of(stored: Path) -> None:
    tried = suite.prepare(_job(stored))
    assert list(tried) == ["own", "rows", "in order"]
    for work, attempts in tried.items():
        way = "loop" if work == "rows" else "samples"
        assert {name for setting, _ in attempts for name in setting} == {"layout", "open", way}
