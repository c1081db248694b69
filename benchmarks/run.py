"""The whole run: every suite and case, the report, and what is kept."""

import shutil
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import plots, process, publish, table, targets, turns
from benchmarks.command import Plan, plan, refuse_debug_build
from benchmarks.content import prepared
from benchmarks.machine import describe, versions
from benchmarks.peers import ALL, FIRST, QUICK
from benchmarks.record import Record, turns_told
from benchmarks.report import markdown
from benchmarks.store import workload_of
from benchmarks.suites import SUITES

METHOD = "[benchmarks/README.md](../README.md)"
"""How all of it is measured, from where reports are kept."""


def main() -> None:
    """Run what the command line asks for; its status is not 0 where something failed or has no answer."""
    planned = plan(sys.argv[1:])
    failed: list[str] = []
    if planned.targets:
        record = Record.read(last(instead=publish.PUBLISHED))
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
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, process.end)
    refuse_debug_build()
    began = datetime.now(UTC)
    process.RESULTS.mkdir(exist_ok=True)
    kept = process.RESULTS / f"{began:%Y%m%d-%H%M%S}{'-smoke' if planned.smoke else ''}"
    # Beside the results and not in /tmp, which may be memory or too small.
    data = Path(tempfile.mkdtemp(prefix="stores-", dir=process.RESULTS))
    try:
        turns.say("data are prepared, unless they are there")
        header = describe(data) | {f"data, {name}": what for name, what in prepared().items()}
        record = Record([], planned.smoke, {}) if not planned.resume else Record.read(last())
        method = f"`{planned.command}`, {turns_told(planned.rounds, planned.seconds)}"
        systems = {peer: presence(peer, planned.patience) for peer in planned.peers}
        if isinstance(lost := systems.get(FIRST), str):
            sys.exit(f"{FIRST} is not there, and nothing can be compared with it: {lost}")
        there = {peer: said for peer, said in systems.items() if isinstance(said, dict)}
        header["versions"] = versions(header["versions"], *(said["versions"] for said in there.values()))
        header["systems"] = ", ".join(map(table.name, there))
        record.runs.append({"run": f"{began:%Y-%m-%d %H:%M} UTC, {method}", **header})
        # A system that is not there any longer has figures of a run before.
        known = {peer for peer, said in record.systems.items() if isinstance(said, dict)}
        record.systems |= {
            peer: said for peer, said in systems.items() if isinstance(said, dict) or peer not in known
        }
        each(planned, data, record, list(there), kept)
    finally:
        shutil.rmtree(data)
    record.save(kept.with_suffix(".json"))
    pictures = plots.draw(record, kept)
    figures = kept.with_suffix(".json").name
    report = markdown(record, [picture.name for picture in pictures], METHOD, figures)
    kept.with_suffix(".md").write_text(report)
    print(report)
    print(f"\nKept as {kept}.md and .json")
    if planned.publish:
        publish.publish(record)
    return record


def each(planned: Plan, data: Path, record: Record, present: list[str], kept: Path) -> None:
    """All cases that the record has not, those of a quick run first, while there is time.

    The record is kept after each, so that what ends a run costs it the case that it is at.
    """
    end = time.monotonic() + 60 * planned.minutes
    folder, stores = data / "case", data / "stores"
    for cases in by_workload(planned.cases).values():
        for suite, case in cases:
            if case in record.results.get(suite, {}):
                continue
            if time.monotonic() > end:
                turns.say(f"{suite} {case}: no time is left")
                continue
            asked = QUICK if planned.few and case in SUITES[suite].FEW else ALL
            peers = [peer for peer in present if peer in SUITES[suite].PEERS and peer in asked]
            if not peers:
                continue  # it is about none of those that were asked for
            found = turns.taken(suite, case, folder, stores, peers, planned)
            record.add(suite, case, *found)
            record.save(kept.with_suffix(".json"))
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(stores, ignore_errors=True)


def by_workload(cases: dict[str, list[str]]) -> dict[str, list[tuple[str, str]]]:
    """Suites and cases by the workload that they share; those that a quick run has come first."""
    pairs = [(suite, case) for suite, names in cases.items() for case in names]
    groups: dict[str, list[tuple[str, str]]] = {}
    for suite, case in sorted(pairs, key=lambda pair: pair[1] not in SUITES[pair[0]].QUICK):
        workload = workload_of(SUITES[suite].CASES[case])
        groups.setdefault(workload.stored if workload else "", []).append((suite, case))
    return groups


def last(instead: Path | None = None) -> Path:
    """The last run kept that has figures; where none is kept, what is to be had instead."""
    found = max(process.RESULTS.glob("????????-??????.json"), default=instead)
    if found is None or not found.exists():
        sys.exit(f"no run with figures is kept in {process.RESULTS}; those of --smoke have none")
    return found


def presence(peer: str, patience: float) -> dict[str, str] | str:
    """What the report says of a system, or why it is not in this run."""
    try:
        found: dict[str, str] | str = process.run(peer, "about", peer, patience=patience)
    except process.ProcessError as reason:
        turns.say(f"{peer} is left out: {reason}")
        return str(reason)
    return found
