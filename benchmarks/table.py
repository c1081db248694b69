"""Cells of the report's tables."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from statistics import median

from benchmarks.peers import ALL, FIRST, MACHINE
from benchmarks.suite import Figures

STEADY = 0.2
"""A round may be off the median by so much, without a mark."""

FEWEST = 3
"""Rounds, of which a spread says something; a figure of fewer is uncertain."""


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


RATIOS = {"x DSRT": FIRST, "x machine": MACHINE}
"""The columns of a rate's ratios, and to which system they are."""


def ratios(systems: Mapping[str, Sequence[float] | str], peer: str) -> list[str]:
    """The cells of `RATIOS`."""
    return [ratio(systems[peer], systems.get(other)) for other in RATIOS.values()]


def rates(figures: Figures, work: str, columns: Mapping[str, Callable[[str], str]]) -> list[str]:
    """A table of the systems' samples a second, with further columns of what there is about a system."""
    lines = head("system", "samples/s", "spread", *RATIOS, *columns, words=1)
    found = figures.get(work, {})
    for peer in systems(found):
        rates = found[peer]
        if isinstance(rates, str):
            lines.append(row([name(peer), rates, "", *("" for _ in (*RATIOS, *columns))]))
            continue
        cells = [name(peer), count(rates), spread(rates), *ratios(found, peer)]
        lines.append(row([*cells, *(column(peer) for column in columns.values())]))
    return lines


def times(
    figures: Figures, work: str, unit: str = "ms", scale: float = 1e3
) -> dict[str, Callable[[str], str]]:
    """The columns of the median and of the 95th percentile, which `timing.figures` keeps in seconds."""
    shown = ("median", "p95")
    return {f"{which}, {unit}": partial(middle, figures, f"{work} {which}", scale=scale) for which in shown}


def spread(figures: Sequence[float]) -> str:
    """The lowest and the highest figure, by how much they differ from the median; of how many, if of few."""
    middle = median(figures)
    edges = [f"{(edge / middle - 1) * 100:+.0f} %" for edge in (min(figures), max(figures))]
    few = f" ({len(figures)} round{'s' * (len(figures) > 1)})"
    return " ".join(edges) + few * (len(figures) < FEWEST)


def mark(*figures: Sequence[float]) -> str:
    """`~` before what is uncertain: the rounds of one of these differ too much, or are too few."""
    for each in figures:
        low, middle, high = min(each), median(each), max(each)
        if len(each) < FEWEST or low < middle * (1 - STEADY) or high > middle * (1 + STEADY):
            return "~"
    return ""


def count(figures: Sequence[float], scale: float = 1) -> str:
    """A median without its decimals."""
    return f"{mark(figures)}{median(figures) * scale:,.0f}"


def ratio(figures: Sequence[float] | str, others: Sequence[float] | str | None) -> str:
    """One median by another, if there are both, and the other is not 0."""
    if not others or isinstance(figures, str) or isinstance(others, str) or not median(others):
        return ""
    uncertain = "" if figures is others else mark(figures, others)
    found = median(figures) / median(others)
    return f"{uncertain}{found:.2f}" if found >= 0.01 else f"{uncertain}{found:.1g}"


def less(systems: Mapping[str, Sequence[float] | str], peer: str, than: str = FIRST) -> str:
    """DSRT's time, or memory, by a system's, if there are both: above 1 the system takes less."""
    return ratio(systems.get(than, ""), systems.get(peer))


def middle(figures: Figures, work: str, peer: str, scale: float = 1) -> str:
    """The median of a figure, three digits of it, if there is one."""
    found = figures.get(work, {}).get(peer, "")
    return found if isinstance(found, str) else f"{mark(found)}{digits(median(found) * scale)}"


def digits(figure: float) -> str:
    """Three digits of a figure, all of those before the point."""
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.3g}"


def name(peer: str) -> str:
    """A system as it calls itself."""
    return peer.replace("_", "-")
