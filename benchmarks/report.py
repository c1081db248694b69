"""The figures as Markdown: medians, spread, and how DSRT compares, also where it loses."""

from benchmarks import table
from benchmarks.peers import PEERS
from benchmarks.suite import Results
from benchmarks.suites import SUITES


def markdown(header: dict[str, str], results: dict[str, Results], smoke: bool) -> str:
    """The whole report."""
    lines = ["# DSRT beside its peers", ""]
    if smoke:
        lines += ["**A smoke run: it shows that everything runs. The figures mean nothing.**", ""]
    lines += [f"- {key}: {value}" for key, value in header.items()]
    lines += ["", "Figures are medians over the rounds; spread is the lowest and the highest round."]
    for suite, figures in results.items():
        lines += ["", *SUITES[suite].report(figures, smoke)]
    lines += ["", "## How each system does it", ""]
    present = {
        peer
        for found in results.values()
        for case in found.values()
        for work in case.values()
        for peer in work
    }
    for peer in sorted(present):
        lines.append(f"- {table.name(peer)} reads: {PEERS[peer].reads}")
        lines.append(f"- {table.name(peer)} writes: {PEERS[peer].writes}")
    return "\n".join(lines) + "\n"
