"""The command line."""

import argparse
import math
import os
import sys
from dataclasses import dataclass

from benchmarks.peers import ALL, QUICK
from benchmarks.store import workload_of
from benchmarks.suite import Suite
from benchmarks.suites import SUITES

ROUNDS, SECONDS = 5, 1.0
"""Turns of every system, and seconds of each figure of a turn, in a full run."""


@dataclass(frozen=True)
class Plan:
    """What a run does. `cases` is by suite."""

    command: str
    """It repeats the run."""

    targets: bool
    """Nothing but to say what the last run kept says."""

    publish: bool
    """Write the page of the documentation, too."""

    peers: tuple[str, ...]
    cases: dict[str, list[str]]
    few: bool
    """Leave out systems where they say little new: nobody has named the cases."""

    rounds: int
    seconds: float
    smoke: bool
    patience: float
    """Seconds for the answer of a process."""

    minutes: float
    """After so many no case is begun."""

    resume: bool
    """Take the last run kept, and add the cases that it has not."""


def plan(arguments: list[str]) -> Plan:
    """What the arguments ask for; the process and its children keep to the cores that they name."""
    named = (name for suite in SUITES.values() for case in suite.CASES for name in _names(suite, case))
    known = dict.fromkeys([*SUITES, *named])
    parser = argparse.ArgumentParser(prog="nox -s bench --", description="DSRT beside its peers.")
    parser.add_argument(
        "name", nargs="*", help=f"`full`, or only these suites, workloads and cases: {', '.join(known)}"
    )
    parser.add_argument("--smoke", action="store_true", help="tiny data, one round: does it run? no figures")
    parser.add_argument("--rounds", type=int, help="turns of every system (3, in a full run 5)")
    parser.add_argument("--seconds", type=float, help="of each figure of a turn (0.3, in a full run 1)")
    parser.add_argument("--cores", type=int, help="how many of the machine's all keep to (default: all)")
    parser.add_argument(
        "--targets", action="store_true", help="what the last run kept says about the targets"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no case after so many")
    parser.add_argument("--continue", dest="resume", action="store_true", help="add to the last run kept")
    parser.add_argument("--publish", action="store_true", help="write docs/benchmarks.md, too")
    parser.add_argument("--peer", action="append", choices=ALL, help="only this; may repeat")
    options = parser.parse_intermixed_args(arguments)
    if options.smoke and (options.resume or options.publish):
        parser.error("--smoke has no figures to --continue with or to --publish")
    if options.peer and options.publish:
        parser.error("--publish is for runs of all systems, and not with --peer")
    if options.publish and os.sched_getparam(0).sched_priority:
        parser.error("--publish is for the usual scheduling: under a real-time priority, systems look slower")
    full = "full" in options.name
    names = [name for name in options.name if name != "full"]
    if unknown := set(names) - set(known):
        parser.error(f"no such suite or workload: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    cases = chosen(names, full, options.smoke)
    if not cases:
        parser.error(f"{' '.join(names)}: none of these suites has a case of that name")
    for name in ("rounds", "seconds", "cores"):
        if (value := getattr(options, name)) is not None and value <= 0:
            parser.error(f"--{name} {value}: expected more than 0")
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    rounds, seconds = (ROUNDS, SECONDS) if full else (3, 0.3)
    if options.smoke:
        rounds, seconds = 1, 0.05
    return Plan(
        command=" ".join(["nox -s bench", *(["--", *arguments] if arguments else [])]),
        targets=options.targets,
        publish=options.publish,
        peers=tuple(options.peer or (ALL if full else QUICK)),
        cases=cases,
        few=not names and not options.smoke,
        rounds=options.rounds or rounds,
        seconds=options.seconds or seconds,
        smoke=options.smoke,
        minutes=options.minutes,
        resume=options.resume,
        patience=300 if options.smoke else 480,
    )


def chosen(names: list[str], full: bool, smoke: bool) -> dict[str, list[str]]:
    """Cases by suite; names are of suites, with all of their cases, or of what is in all suites, or of both.

    The latter is a case, or a workload: every case that is made of it.
    """
    suites = [name for name in SUITES if name in names] or list(SUITES)
    asked = set(names) - set(SUITES)
    found: dict[str, list[str]] = {}
    for name in suites:
        suite = SUITES[name]
        cases = list(suite.CASES)
        if asked:
            cases = [case for case in cases if not asked.isdisjoint(_names(suite, case))]
        elif not names and (smoke or not full):
            cases = list(suite.SMOKE if smoke else suite.QUICK)
        if cases:
            found[name] = cases
    return found


def _names(suite: Suite, case: str) -> tuple[str, ...]:
    workload = workload_of(suite.CASES[case])
    return (case, workload.name) if workload else (case,)


def refuse_debug_build() -> None:
    """Figures of an unoptimised engine would be wrong by an order of magnitude, and would be quoted."""
    import dsrt_native._native

    profile = dsrt_native._native.__build_profile__
    if profile != "release":
        sys.exit(f"dsrt-native here is a {profile} build; benchmarks need an optimised one: nox -s bench")
