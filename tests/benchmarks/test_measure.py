"""What a process of the benchmarks finds in the page cache when it begins."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from benchmarks import measure, page_cache
from benchmarks.peer import load
from benchmarks.store import Store
from benchmarks.suite import Job
from benchmarks.suites import read
from benchmarks.workloads import WORKLOADS

LAYOUTS = [{"mib": 1}, {"mib": 2}]


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    """Of a system that has stored a workload in two layouts, of which the page cache has nothing."""
    workload = replace(WORKLOADS["records"], samples=2000)
    peer = load("memmap")
    monkeypatch.setattr(peer, "SWEEP", {"layout": LAYOUTS})
    plain = peer.write
    monkeypatch.setattr(peer, "write", lambda *arguments, mib: plain(*arguments))
    monkeypatch.setitem(read.CASES, "records", workload)
    # Not in a folder for temporary files, which may be memory.
    with TemporaryDirectory(dir=Path(__file__).parent) as name:
        job = Job("memmap", "records", Path(name) / "case", Path(name) / "stores", 0.1, False)
        Store.of(job, workload).write()
        page_cache.evict(job.stores)
        yield job


def _missing(job: Job, layout: dict[str, Any]) -> int:
    place = Store.of(job, read.CASES["records"]).place({"layout": layout})
    sizes = {path: path.stat().st_size for path in place.rglob("*") if path.is_file()}
    assert sizes
    return sum(-(-size // page_cache.PAGE) - page_cache.resident(path) for path, size in sizes.items())


def _work(action: str, job: Job) -> Any:
    return measure.work(action, "read", json.dumps(asdict(job), default=str))


def test_settings_are_tried_with_all_layouts_in_memory(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "prepare", lambda job: [_missing(job, layout) for layout in LAYOUTS])
    assert _work("prepare", job) == [0, 0]


def test_a_turn_has_in_memory_what_it_reads_and_leaves_no_other_layout_there(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "measure", lambda job: [_missing(job, layout) for layout in LAYOUTS])
    page_cache.warm(Store.of(job, read.CASES["records"]).place({"layout": LAYOUTS[0]}))
    settings: Any = {"gather": {"layout": LAYOUTS[1]}, "loop": "it has no loader"}
    first, second = _work("measure", replace(job, settings=settings))
    assert (first > 900, second) == (True, 0)
