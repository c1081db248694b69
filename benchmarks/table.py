"""Cells of the report's tables."""

from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import median

from benchmarks.peers import ALL, FIRST
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


def rates(figures: Figures, work: str, columns: Mapping[str, Callable[[str], str]]) -> list[str]:
    """A table of the systems' samples a second, with further columns of what there is about a system."""
    lines = head("system", "samples/s", "spread", "x DSRT", *columns, words=1)
    found = figures.get(work, {})
    for peer in systems(found):
        rates = found[peer]
        if isinstance(rates, str):
            lines.append(row([name(peer), rates, "", "", *("" for _ in columns)]))
            continue
        cells = [name(peer), f"{median(rates):,.0f}", spread(rates), ratio(rates, found.get(FIRST))]
        lines.append(row([*cells, *(column(peer) for column in columns.values())]))
    return lines


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
