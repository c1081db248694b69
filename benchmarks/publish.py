"""The report of a run as a page of the documentation."""

from pathlib import Path

from benchmarks import plots
from benchmarks.record import Record
from benchmarks.report import markdown

DOCS = Path(__file__).parents[1] / "docs"

METHOD = "`benchmarks/README.md` of the repository"
"""Not a link: the documentation has no page of it."""

PUBLISHED = DOCS / "benchmarks" / "last.json"
"""Every figure of the run that the page is about."""


def publish(record: Record) -> None:
    """Write docs/benchmarks.md, its pictures and its figures, in place of those of the run before."""
    folder = PUBLISHED.parent
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    pictures = plots.draw(record, folder / "last")
    names = [f"benchmarks/{each.name}" for each in pictures]
    record.save(PUBLISHED)
    (DOCS / "benchmarks.md").write_text(markdown(record, names, METHOD, f"benchmarks/{PUBLISHED.name}"))
