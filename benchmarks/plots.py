"""Pictures of a run: systems side by side on every workload, and the cost of a sample by their number."""

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Any, NamedTuple

from benchmarks import table
from benchmarks.peers import ALL, FIRST, MACHINE
from benchmarks.record import Record
from benchmarks.suite import Results
from benchmarks.suites import SUITES
from benchmarks.workload import Workload

_OURS, _OTHERS, _LIMIT = "#d1495b", "#6c8ead", "#c9c9c9"
_COLUMNS, _WIDTH = 3, 46
_STYLES: dict[str, dict[str, Any]] = {
    FIRST: {"color": _OURS, "linewidth": 2.5, "zorder": 3},
    MACHINE: {"color": _LIMIT, "linestyle": "--"},
}


class _Picture(NamedTuple):
    """Bars of one figure of a suite, the best on top: the highest, unless the least is."""

    suite: str
    work: str
    title: str
    scale: float = 1e-3
    least: bool = False

    def ordered(self, systems: Mapping[str, list[float]]) -> list[str]:
        """From the bottom to the top."""
        return sorted(systems, key=lambda peer: median(systems[peer]), reverse=self.least)


_BARS = {
    "gather": _Picture("read", "gather", "Random batches, thousand samples a second"),
    "loader": _Picture("read", "loop", "Shuffled loader in a Python loop, thousand samples a second"),
    "memory": _Picture(
        "read", "loop steady", "Own memory of the loader's processes, MiB: less is better", 1, True
    ),
    "samples": _Picture("samples", "samples", "One sample after another, thousand a second"),
    "first": _Picture("first", "first", "First batch of a fresh loader, ms: less is better", 1e3, True),
    "write": _Picture("write", "samples memory", "Writing sample by sample, s: less is better", 1, True),
    "train": _Picture("train", "train", "Training-like consumer, thousand samples a second"),
}


def draw(record: Record, stem: Path) -> list[Path]:
    """Write what the run has figures for as SVG, and return the files: `stem` with a name after it."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "dsrt"  # the same figures give the same file
    written = []
    for name, picture in _BARS.items():
        found = _rounds(record.figures(picture.suite, SUITES[picture.suite].CASES), picture.work)
        if found:
            written.append(_bars(found, picture, stem.with_name(f"{stem.name}-{name}.svg")))
    if sizes := record.figures("size", SUITES["size"].CASES):
        written.append(_lines(sizes, stem.with_name(f"{stem.name}-size.svg")))
    return written


def _rounds(results: Results, work: str) -> dict[str, dict[str, list[float]]]:
    """Case -> system -> figures of its rounds, where there are some."""
    found = {}
    for case, figures in results.items():
        systems = figures.get(work, {})
        rates = {peer: systems[peer] for peer in table.systems(systems)}
        found[case] = {peer: each for peer, each in rates.items() if not isinstance(each, str)}
    return {case: systems for case, systems in found.items() if systems}


def _bars(found: Mapping[str, Mapping[str, list[float]]], picture: _Picture, path: Path) -> Path:
    from matplotlib import pyplot

    columns = min(_COLUMNS, len(found))
    rows = -(-len(found) // columns)
    size = 4.2 * columns, (0.6 + 0.22 * max(map(len, found.values()))) * rows + 0.5
    figure, grid = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for axes in grid.flat[len(found) :]:
        axes.axis("off")
    for axes, (case, systems) in zip(grid.flat, found.items(), strict=False):
        ordered, scale = picture.ordered(systems), picture.scale
        bars = axes.barh(
            [table.name(peer) for peer in ordered],
            [median(systems[peer]) * scale for peer in ordered],
            color=[{FIRST: _OURS, MACHINE: _LIMIT}.get(peer, _OTHERS) for peer in ordered],
        )
        labels = [
            f"{table.mark(systems[peer])}{table.digits(median(systems[peer]) * scale)}" for peer in ordered
        ]
        axes.bar_label(bars, labels, padding=3, fontsize=7)
        axes.set_title(fill(_title(SUITES[picture.suite].CASES[case], case), _WIDTH), fontsize=8, loc="left")
        axes.margins(x=0.18)
        axes.set_xticks([])
        axes.tick_params(labelsize=8, length=0)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    figure.suptitle(picture.title, fontsize=11, x=0.01, ha="left")
    return _saved(figure, path)


def _title(workload: object, case: str) -> str:
    if not isinstance(workload, Workload):
        return getattr(workload, "title", case)
    return workload.title if workload.codec == "raw" else f"{workload.title}, {workload.codec}"


def _lines(results: Results, path: Path) -> Path:
    from matplotlib import pyplot

    works = {
        "open": "Opening and one sample, ms",
        "gather": "Gather, us a sample",
        "loop": "Loader, us a sample",
    }
    size = 4.2 * len(works) + 1, 3.6
    figure, grid = pyplot.subplots(1, len(works), figsize=size, layout="constrained")
    # A system has its colour in all of them; none of the reds, which look like ours.
    others = [peer for peer in ALL if peer not in _STYLES]
    colours = cycle(map(pyplot.get_cmap("tab20"), (0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 14, 15, 16, 18)))
    styles = _STYLES | {peer: {"color": colour} for peer, colour in zip(others, colours, strict=False)}
    for axes, (work, title) in zip(grid, works.items(), strict=True):
        found = _rounds(results, work)
        for peer in table.systems({peer for systems in found.values() for peer in systems}):
            cases = [case for case in found if peer in found[case]]
            middles = [median(found[case][peer]) for case in cases]
            values = [middle * 1e3 if work == "open" else 1e6 / middle for middle in middles]
            counts = [SUITES["size"].CASES[case].samples for case in cases]
            axes.loglog(counts, values, marker="o", markersize=3, label=table.name(peer), **styles[peer])
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("samples", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    lines = {line.get_label(): line for axes in grid for line in axes.get_lines()}
    figure.legend(lines.values(), lines.keys(), fontsize=7, frameon=False, loc="outside right center")
    return _saved(figure, path)


def _saved(figure: Any, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None})
    return path
