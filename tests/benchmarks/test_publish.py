"""All that is published can be doubted: the page links to every figure, and `--targets` reads them."""

import re
from pathlib import Path

import pytest

from benchmarks import process, publish, run
from benchmarks.record import Record

RUN = {"run": "2026-11-30 22:18 UTC, `nox -s bench`, 3 rounds, 0.3 s a figure"}


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Documentation in which something is published already."""
    docs = tmp_path / "docs"
    (docs / "benchmarks").mkdir(parents=True)
    (docs / "benchmarks" / "last-before.svg").touch()
    monkeypatch.setattr(publish, "DOCS", docs)
    monkeypatch.setattr(publish, "PUBLISHED", docs / "benchmarks" / "last.json")
    return docs


def test_the_page_links_to_figures_and_pictures_that_are_there_and_no_old_one_stays(docs: Path) -> None:
    record = Record([RUN], False, {"dsrt": {"versions": "", "reads": "", "writes": ""}})
    record.add("read", "tokens", {"gather": {"dsrt": [1.0, 2.0], "lmdb": [1.0, 1.0]}}, {}, {})
    publish.publish(record)
    page = (docs / "benchmarks.md").read_text()
    linked = {docs / target for target in re.findall(r"\]\((benchmarks/[^)]*)\)", page)}
    assert linked == set((docs / "benchmarks").iterdir())
    assert Record.read(docs / "benchmarks" / "last.json") == record


def test_targets_are_of_the_published_run_until_one_is_kept(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "RESULTS", tmp_path)
    with pytest.raises(SystemExit, match="no run with figures is kept"):
        run.last(instead=publish.PUBLISHED)
    publish.publish(Record([RUN], False, {}))
    assert run.last(instead=publish.PUBLISHED) == docs / "benchmarks" / "last.json"
    with pytest.raises(SystemExit, match="no run with figures is kept"):
        run.last()  # nothing is added to the figures of another machine
    kept = tmp_path / "20261130-221800.json"
    kept.touch()
    assert run.last(instead=publish.PUBLISHED) == kept
