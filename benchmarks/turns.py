"""The turns of a case: every system is prepared, and then all are measured, one after another, in rounds."""

import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks import process, sweep
from benchmarks.command import Plan
from benchmarks.peers import QUICK
from benchmarks.store import at_once, workload_of
from benchmarks.suite import Figures, Found, Job, Tried
from benchmarks.suites import SUITES

LONG = 25.0
"""Seconds: a system whose turns of a case have taken so long, with the start of processes, has no more."""

ENOUGH, LEAST = 20, 12.0
"""The same for those that only a full run has: in times of what a figure takes, and in seconds at least."""

TURN = 0.25
"""Of the patience with a system."""

Ask: TypeAlias = Callable[[str, str], Any]


def taken(
    suite: str, case: str, folder: Path, stores: Path, peers: list[str], plan: Plan
) -> tuple[Figures, dict[str, Tried], dict[str, str]]:
    """The figures of every turn of a case, the settings tried, by system, and why some have no figures."""
    figures: Figures = {}
    tried: dict[str, Tried] = {}
    absent: dict[str, str] = {}
    jobs = {peer: Job(peer, case, folder / peer, stores / peer, plan.seconds, plan.smoke) for peer in peers}

    def ask(action: str, peer: str) -> Any:
        say(f"{suite} {case}: {action} {peer}")
        # Nothing is stored and tried in a turn.
        patience = plan.patience * (1 if action != "measure" else TURN)
        return _answer(action, suite, jobs[peer], patience)

    if SUITES[suite].STORES and not plan.smoke:
        workload = workload_of(SUITES[suite].CASES[case])
        missing = [peer for peer in peers if workload and not (stores / peer / workload.stored).exists()]
        absent |= {peer: found for peer, found in _at_once("store", missing, ask) if found is not None}
    for peer, found in _prepared([peer for peer in peers if peer not in absent], ask, plan.smoke):
        if isinstance(found, str):
            absent[peer] = found
            continue
        if plan.smoke:
            found, turn = found
            _keep(figures, peer, turn)
        tried[peer] = found
        best = {work: sweep.best(attempts) for work, attempts in found.items()}
        jobs[peer] = replace(jobs[peer], settings=best)
        reasons = [setting for setting in best.values() if isinstance(setting, str)]
        if reasons and len(reasons) == len(best):
            absent[peer] = sweep.gravest(reasons)  # it can do nothing of all that it was asked for
    there = [peer for peer in peers if peer not in absent]
    if not plan.smoke:
        rounds = min(plan.rounds, SUITES[suite].MOST_ROUNDS)
        enough = {peer: LONG if peer in QUICK else max(ENOUGH * plan.seconds, LEAST) for peer in there}
        absent |= _rounds(figures, ask, rounds, enough)
    for systems in figures.values():
        systems |= absent
    return figures, tried, absent


def _prepared(peers: list[str], ask: Ask, smoke: bool) -> Iterable[tuple[str, Any]]:
    if not smoke:
        return ((peer, ask("prepare", peer)) for peer in peers)
    # Where figures mean nothing, all that one does is done in one process.
    return _at_once("both", peers, ask)


def _at_once(action: str, peers: list[str], ask: Ask) -> list[tuple[str, Any]]:
    """Several at once: nothing is timed."""
    with ThreadPoolExecutor(at_once()) as pool:
        return list(zip(peers, pool.map(lambda peer: ask(action, peer), peers), strict=True))


def _rounds(figures: Figures, ask: Ask, rounds: int, enough: dict[str, float]) -> dict[str, str]:
    """Add the figures of all turns, and return why there are none of some."""
    absent: dict[str, str] = {}
    peers = list(enough)
    spent = dict.fromkeys(peers, 0.0)
    for turn in range(rounds):
        # The first of a round differs from round to round: a machine that slows down hits all alike.
        first = turn % max(1, len(peers))
        for peer in peers[first:] + peers[:first]:
            if peer in absent or spent[peer] > enough[peer]:
                continue
            began = time.monotonic()
            found = ask("measure", peer)
            spent[peer] += time.monotonic() - began
            if isinstance(found, str):
                absent[peer] = found
            else:
                _keep(figures, peer, found)
    return absent


def _answer(action: str, suite: str, job: Job, patience: float) -> Any:
    """What the process of a job finds, or why it finds nothing."""
    try:
        return process.run(job.peer, action, suite, process.described(job), patience=patience)
    except process.ProcessError as error:
        return f"{sweep.FAILED}{error}"


def _keep(figures: Figures, peer: str, found: Found) -> None:
    """Add the figures of a turn to those before it, or the reasons why there are none."""
    for work, figure in found.items():
        systems = figures.setdefault(work, {})
        known = systems.setdefault(peer, figure if isinstance(figure, str) else [])
        if isinstance(known, list) and not isinstance(figure, str):
            known.append(figure)


def say(text: str) -> None:
    """What is going on, on standard error; standard output is the report's."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)
