"""Cells of the report's tables."""

from collections.abc import Collection, Sequence
from statistics import median

from benchmarks.peers import ALL
from benchmarks.suite import Figures


def head(*columns: str, words: int = 2) -> list[str]:
    """The first two lines of a table; all columns but the first `words` hold numbers."""
    rule = ["---"] * words + ["---:"] * (len(columns) - words)
    return [row(columns), "|" + "|".join(rule) + "|"]


def row(cells: Sequence[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def systems(present: Collection[str]) -> list[str]:
    """Those of the systems that are present, in the order of the report."""
    return [peer for peer in ALL if peer in present]


def spread(figures: Sequence[float]) -> str:
    """The lowest and the highest figure, by how much they differ from the median."""
    middle = median(figures)
    return " ".join(f"{(edge / middle - 1) * 100:+.0f} %" for edge in (min(figures), max(figures)))


def ratio(figures: Sequence[float] | str, others: Sequence[float] | str | None) -> str:
    """One median by another, if there are both."""
    if not others or isinstance(figures, str) or isinstance(others, str):
        return ""
    return f"{median(figures) / median(others):.2f}"


def middle(figures: Figures, work: str, peer: str, scale: float = 1) -> str:
    """The median of a figure, three digits of it, if there is one."""
    found = figures.get(work, {}).get(peer, "")
    return found if isinstance(found, str) else digits(median(found) * scale)


def digits(figure: float) -> str:
    """Three digits of a figure, all of those before the point."""
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.3g}"


def name(peer: str) -> str:
    """A system as it calls itself."""
    return peer.replace("_", "-")
