"""The whole run: store, check, try settings, measure in turns, print, and keep the figures."""

import json
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import plots, process, sweep, targets
from benchmarks.command import Plan, plan, refuse_debug_build
from benchmarks.content import prepared
from benchmarks.machine import describe
from benchmarks.record import Record
from benchmarks.report import markdown
from benchmarks.suite import Figures, Found, Job, Tried
from benchmarks.suites import SUITES


def main() -> None:
    """Run what the command line asks for; its status is not 0 where something failed or has no answer."""
    planned = plan(sys.argv[1:])
    failed: list[str] = []
    if planned.targets:
        record = Record.read(max(process.RESULTS.glob("????????-??????.json")))
        print("\n".join(targets.report(record)))
    else:
        record = measured(planned)
        failed = [f"{place}: {reason}" for place, reason in record.failures().items()]
    failed += [
        f"target {target.title}: {answer.figure}"
        for target, answer in targets.answers(record).items()
        if answer.state == "no answer"
    ]
    if failed:
        sys.exit("\n".join(failed))


def measured(planned: Plan) -> Record:
    """Run, and keep and print the report."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # ends what runs, and tidies up
    refuse_debug_build()
    began = datetime.now(UTC)
    process.RESULTS.mkdir(exist_ok=True)
    # Beside the results and not in /tmp, which may be memory or too small.
    data = Path(tempfile.mkdtemp(prefix="stores-", dir=process.RESULTS))
    try:
        header = {"started": began.isoformat(timespec="seconds"), **describe(data)}
        say("data are prepared, unless they are there")
        header |= {f"data, {name}": what for name, what in prepared().items()}
        header["method"] = f"{planned.title} run, {planned.rounds} rounds of {planned.seconds} s a figure"
        record = Record(
            header, planned.smoke, {peer: presence(peer, planned.patience) for peer in planned.peers}
        )
        for suite, cases in planned.cases.items():
            for case in cases:
                run(suite, case, data, planned, record)
    finally:
        shutil.rmtree(data)
    kept = process.RESULTS / f"{began:%Y%m%d-%H%M%S}{'-smoke' if planned.smoke else ''}"
    record.save(kept.with_suffix(".json"))
    text = markdown(record, [picture.name for picture in plots.draw(record, kept)])
    kept.with_suffix(".md").write_text(text)
    print(text)
    print(f"\nKept as {kept}.md and .json")
    return record


def presence(peer: str, patience: float) -> dict[str, str] | str:
    """What the report says of a system, or why it is not in this run."""
    try:
        found: dict[str, str] | str = process.run(peer, "about", peer, patience=patience)
    except process.ProcessError as reason:
        say(f"{peer} is left out: {reason}")
        return str(reason)
    return found


def run(suite: str, case: str, data: Path, planned: Plan, record: Record) -> None:
    """The figures of every turn of a case."""
    figures: Figures = {}
    tried: dict[str, Tried] = {}
    jobs: dict[str, Job] = {}
    absent: dict[str, str] = {}
    present = [peer for peer in planned.peers if isinstance(record.systems[peer], dict)]
    for peer in (peer for peer in present if peer in SUITES[suite].PEERS):
        say(f"{suite} {case}: {peer} is prepared and checked")
        job = Job(peer, case, data / suite / case / peer, planned.seconds, planned.smoke)
        found = answer("prepare", suite, job, planned.patience)
        if isinstance(found, str):
            absent[peer] = found
            continue
        tried[peer] = found
        best = {work: sweep.best(attempts) for work, attempts in found.items()}
        jobs[peer] = Job(**vars(job) | {"settings": best})
    peers = list(jobs)
    rounds = min(planned.rounds, SUITES[suite].MOST_ROUNDS)
    for turn in range(rounds):
        # The first of a round differs from round to round: a machine that slows down hits all alike.
        first = turn % len(peers) if peers else 0
        for peer in peers[first:] + peers[:first]:
            say(f"{suite} {case}: round {turn + 1} of {rounds}, {peer}")
            found = answer("measure", suite, jobs[peer], planned.patience)
            if isinstance(found, str):
                absent[peer] = found
            else:
                keep(figures, peer, found)
    for peer, reason in absent.items():
        for systems in figures.values():
            systems[peer] = reason
    record.results.setdefault(suite, {})[case] = figures
    record.tried.setdefault(suite, {})[case] = tried
    shutil.rmtree(data / suite / case, ignore_errors=True)


def answer(action: str, suite: str, job: Job, patience: float) -> Any:
    """What the process of a job finds, or why it finds nothing."""
    described = json.dumps(asdict(job) | {"folder": str(job.folder)})
    try:
        return process.run(job.peer, action, suite, described, patience=patience)
    except process.ProcessError as error:
        return f"{sweep.FAILED}{error}"


def keep(figures: Figures, peer: str, found: Found) -> None:
    """Add the figures of a turn to those before it, or the reasons why there are none."""
    for work, figure in found.items():
        systems = figures.setdefault(work, {})
        known = systems.setdefault(peer, figure if isinstance(figure, str) else [])
        if isinstance(known, list) and not isinstance(figure, str):
            known.append(figure)


def say(text: str) -> None:
    """What is going on, on standard error; standard output is the report's."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)
