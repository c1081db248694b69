"""The figures as Markdown: medians, spread, and how DSRT compares, also where it loses."""

from statistics import median
from typing import TypeAlias

import numpy as np

from benchmarks.machine import installed
from benchmarks.peers import FIRST, PEERS
from benchmarks.workloads import WORKLOADS

Results: TypeAlias = dict[str, dict[str, dict[str, list[float]]]]
"""workload -> work -> system -> samples per second of each round."""

_WORK = {"gather": "gather, {batch} random samples", "loader": "loader, batches of {batch}, shuffled"}


def markdown(header: dict[str, str], results: Results, smoke: bool) -> str:
    """The whole report."""
    lines = ["# DSRT beside its peers", ""]
    if smoke:
        lines += ["**A smoke run: it shows that everything runs. The figures mean nothing.**", ""]
    lines += [f"- {key}: {value}" for key, value in header.items()]
    lines += [
        "",
        "Every system delivered the right bytes before it was timed. Median over the rounds; spread is",
    ]
    lines += [
        "the lowest and highest round. *x DSRT* is a system's median divided by DSRT's: above 1 it is faster."
    ]
    for name, figures in results.items():
        lines += ["", *_section(name, figures, smoke)]
    present = sorted({peer for figures in results.values() for work in figures.values() for peer in work})
    lines += ["", "How each system does it:", ""]
    lines += [f"- {_name(peer)}: {PEERS[peer].how}" for peer in present]
    return "\n".join(lines) + "\n"


def _section(name: str, figures: dict[str, dict[str, list[float]]], smoke: bool) -> list[str]:
    workload = WORKLOADS[name].shrunk() if smoke else WORKLOADS[name]
    each = workload.bytes / workload.samples
    lines = [f"## {workload.title}: {workload.samples:,} samples, {workload.bytes / 2**20:,.0f} MiB", ""]
    lines += ["| work | system | samples/s | MiB/s | spread | x DSRT |", "|---|---|---:|---:|---:|---:|"]
    for work, systems in figures.items():
        ours = median(systems[FIRST])
        for peer in PEERS:
            if peer not in systems:
                continue
            rates = systems[peer]
            middle = median(rates)
            low, high = ((edge(rates) / middle - 1) * 100 for edge in (np.min, np.max))
            title = _WORK[work].format(batch=workload.batch) if peer == FIRST else ""
            lines.append(
                f"| {title} | {_system(peer)} | {middle:,.0f} | {middle * each / 2**20:,.0f} "
                f"| {low:+.0f} % {high:+.0f} % | {middle / ours:.2f} |"
            )
    return lines


def _system(peer: str) -> str:
    return f"{_name(peer)} {installed(PEERS[peer].distribution)}"


def _name(peer: str) -> str:
    return peer.replace("_", "-")
