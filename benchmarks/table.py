"""Cells of the report's tables."""

from collections.abc import Sequence
from statistics import median

from benchmarks.machine import installed
from benchmarks.peers import PEERS


def head(*columns: str, words: int = 2) -> list[str]:
    """The first two lines of a table; all columns but the first `words` hold numbers."""
    rule = ["---"] * words + ["---:"] * (len(columns) - words)
    return [row(columns), "|" + "|".join(rule) + "|"]


def row(cells: Sequence[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def spread(figures: Sequence[float]) -> str:
    """The lowest and the highest figure, by how much they differ from the median."""
    middle = median(figures)
    return " ".join(f"{(edge / middle - 1) * 100:+.0f} %" for edge in (min(figures), max(figures)))


def ratio(figures: Sequence[float], others: Sequence[float] | str | None) -> str:
    """One median by another, if there is another."""
    return "" if not others or isinstance(others, str) else f"{median(figures) / median(others):.2f}"


def system(peer: str) -> str:
    """A system and its version."""
    return f"{name(peer)} {installed(PEERS[peer].distribution)}"


def name(peer: str) -> str:
    """A system as it calls itself."""
    return peer.replace("_", "-")
