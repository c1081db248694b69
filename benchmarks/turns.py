"""The turns of a case: every system is prepared, and then all are measured, one after another, in rounds."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import process, sweep
from benchmarks.command import Plan
from benchmarks.suite import Figures, Found, Job, Tried
from benchmarks.suites import SUITES


def taken(
    suite: str, case: str, folder: Path, peers: list[str], plan: Plan
) -> tuple[Figures, dict[str, Tried]]:
    """The figures of every turn of a case, and the settings that each system was tried with."""
    figures: Figures = {}
    tried: dict[str, Tried] = {}
    absent: dict[str, str] = {}
    jobs = {peer: Job(peer, case, folder / peer, plan.seconds, plan.smoke) for peer in peers}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # Where figures mean nothing, several at once, and all that one does in one process.
        each: Callable[..., Iterable[Any]] = pool.map if plan.smoke else map
        first = "both" if plan.smoke else "prepare"

        def ask(action: str, peer: str) -> Any:
            say(f"{suite} {case}: {action} {peer}")
            return _answer(action, suite, jobs[peer], plan.patience)

        for peer, found in zip(peers, each(lambda peer: ask(first, peer), peers), strict=True):
            if isinstance(found, str):
                absent[peer] = found
                continue
            if plan.smoke:
                found, turn = found
                _keep(figures, peer, turn)
            tried[peer] = found
            best = {work: sweep.best(attempts) for work, attempts in found.items()}
            jobs[peer] = replace(jobs[peer], settings=best)
        there = [peer for peer in peers if peer not in absent]
        rounds = min(plan.rounds, SUITES[suite].MOST_ROUNDS) if there and not plan.smoke else 0
        for turn in range(rounds):
            # The first of a round differs from round to round: a machine that slows down hits all alike.
            order = there[turn % len(there) :] + there[: turn % len(there)]
            for peer, found in zip(order, each(lambda peer: ask("measure", peer), order), strict=True):
                if isinstance(found, str):
                    absent[peer] = found
                else:
                    _keep(figures, peer, found)
    for systems in figures.values():
        systems |= absent
    return figures, tried


def _answer(action: str, suite: str, job: Job, patience: float) -> Any:
    """What the process of a job finds, or why it finds nothing."""
    described = json.dumps(asdict(job) | {"folder": str(job.folder)})
    try:
        return process.run(job.peer, action, suite, described, patience=patience)
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
