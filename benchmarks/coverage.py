"""What a report is about: its runs, which case is from which of them, and what a full run has besides."""

from collections.abc import Iterator
from itertools import groupby

from benchmarks import command, table
from benchmarks.peers import ALL, MACHINE
from benchmarks.record import Record, turns_told
from benchmarks.suites import SUITES

_DIRTY = "-dirty"  # after a commit, as git has it


def repeat(record: Record) -> str:
    """A sentence: what to check out and to run, in that order, to have such a report again."""
    steps = []
    for commit, runs in groupby(record.runs, key=lambda header: header.get("commit", "")):
        commands = " and then ".join(f"`{header['run'].split('`')[1]}`" for header in runs)
        changed = " (there with changes that it has not)" * commit.endswith(_DIRTY)
        there = f"check out commit `{commit.removesuffix(_DIRTY)}`{changed} and run " if commit else "run "
        steps.append(there + commands)
    return f"To repeat it, {', then '.join(steps)}."


def headers(record: Record) -> Iterator[str]:
    """Of the first run all, and of those that have added cases to it what differs from the one before."""
    before: dict[str, str] = {}
    for number, header in enumerate(record.runs, 1):
        if len(record.runs) > 1:
            yield from ("", f"Run {number}:", "")[number == 1 :]
        for key, value in header.items():
            if before.get(key) != value:
                yield f"- {key}: {value}"
        before = header


def origin(record: Record, suite: str) -> Iterator[str]:
    """Which cases of a suite are from which run, where there are several."""
    if len(record.runs) == 1:
        return
    runs = record.origin[suite]
    told = (
        f"of run {number + 1}: {', '.join(case for case in runs if runs[case] == number)}"
        for number in sorted(set(runs.values()))
    )
    yield ""
    yield f"*Cases {'; '.join(told)}.*"


def empty(record: Record, suite: str) -> Iterator[str]:
    """The cases of which no system has a figure, and why."""
    for case, figures in record.results[suite].items():
        if not figures:
            yield ""
            reasons = record.absent.get(suite, {}).get(case, {})
            told = "; ".join(f"{table.name(peer)}: {reason}" for peer, reason in reasons.items())
            yield f"There is no figure of `{case}`. {told}"


def absent(record: Record, suite: str) -> Iterator[str]:
    """The systems of the run that are not in cases of a suite, and have no row there."""
    present = {peer for peer, said in record.systems.items() if isinstance(said, dict)}
    peers = SUITES[suite].PEERS
    if present - {*peers, MACHINE}:
        yield ""
        yield f"*Of {', '.join(map(table.name, peers))} alone: this suite is about no other system.*"
    cases: dict[str, list[str]] = {}
    for case, figures in record.figures(suite, SUITES[suite].CASES).items():
        if case in SUITES[suite].FEW == tuple(SUITES[suite].CASES):
            continue  # the others can do nothing of this suite
        measured = {peer for systems in figures.values() for peer in systems}
        if lacking := table.systems((present & set(peers)) - measured):
            cases.setdefault(", ".join(map(table.name, lacking)), []).append(case)
    for systems, names in cases.items():
        told = ", ".join(f"`{name}`" for name in names)
        yield ""
        yield f"*Not measured in {told}: {systems}; name the case to have them (`full {names[0]}`).*"


def missing(record: Record) -> Iterator[str]:
    """What a complete full run has and this has not: suites, cases, systems, rounds, seconds."""
    if record.smoke:
        return
    found = []
    if suites := [name for name in SUITES if not record.results.get(name)]:
        found.append(f"- suites: {', '.join(suites)}")
    for name, suite in SUITES.items():
        lacking = [case for case in suite.CASES if case not in record.results.get(name, {})]
        if lacking and name not in suites:
            found.append(f"- of `{name}`: {', '.join(lacking)}")
    if systems := [peer for peer in ALL if not isinstance(record.systems.get(peer), dict)]:
        found.append(f"- systems: {', '.join(map(table.name, systems))}")
    if found:
        yield from ("**This is not a complete full run.** It lacks:", "", *found, "")
    full = command.ROUNDS, command.SECONDS
    fewer = [each for each in record.turns() if each[0] < full[0] or each[1] < full[1]]
    if fewer:
        told = "; ".join(turns_told(*each) for each in fewer)
        yield from (
            f"**Of fewer rounds or shorter turns than a full run's** ({turns_told(*full)}): {told}.",
            "",
        )
