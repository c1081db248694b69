"""The process in which cases are tried, and which may die of one: ``python -m tests.faults.worker``.

It reads the number of a case per line, and says before each step what it is about to do, so that its death is
that step's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import sys
import warnings
from pathlib import Path

from tests.faults.fault import Bench
from tests.faults.forgeries import forgery
from tests.faults.mutate import fault
from tests.faults.trial import CONTROLS, PATHS, Trial, disagreements, outcome, read_forged, validate_forged

ROOM = 2 << 30
"""So much more address space than after the imports a worker may use."""


def _say(channel: int, **words: object) -> None:
    os.write(channel, json.dumps(words).encode() + b"\n")


def _done(channel: int, case: int) -> None:
    _say(channel, done=case, peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    """Try cases until the input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("place", type=Path)
    parser.add_argument("seed", type=int)
    parser.add_argument("channel", type=int)
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")  # NumPy warns of overflows in what the control reads
    channel: int = arguments.channel
    benches: dict[str, Bench] = {}
    _limit()
    for line in sys.stdin:
        request = json.loads(line)
        case = request["case"]
        if request["forged"]:
            _try_forged(channel, arguments, case, request["skip"])
            _done(channel, case)
            continue
        specimen, made = fault(arguments.root, arguments.seed, case)
        if specimen.name not in benches:
            place = arguments.place / specimen.name
            place.mkdir()
            benches[specimen.name] = Bench(specimen.path, place)
        _say(channel, kind=made.kind, region=made.region, what=f"{specimen.name}: {made.what}")
        with Trial(specimen, made, benches[specimen.name]) as trial:
            for path in [*PATHS, *CONTROLS]:
                if path not in request["skip"]:
                    _say(channel, begins=path)
                    _say(channel, path=path, **trial.read(path))
            if case % request["validate"] == 0 and "validate" not in request["skip"]:
                _say(channel, begins="validate")
                _say(channel, path="validate", **trial.validate())
        _done(channel, case)
    return 0


def _try_forged(channel: int, arguments: argparse.Namespace, case: int, skip: list[str]) -> None:
    of, made = forgery(arguments.root, arguments.seed, case)
    at = arguments.place / "forged" / of.path.name
    shutil.rmtree(at, ignore_errors=True)  # what a process that died has left
    made.cache.write(at)
    _say(channel, kind=made.kind, region=f"forged: {made.region}", what=f"{of.name}: {made.what}")
    judges = {}
    for path in PATHS:
        if path not in skip:
            _say(channel, begins=path)
            judges[path] = read_forged(path, at, of)
            _say(channel, path=path, **outcome(judges[path]))
    if found := disagreements(judges):
        failures = {"disagreement": found[:5]}
        _say(channel, path="together", label="disagreement", rules={}, failures=failures)
    if "validate" not in skip:
        _say(channel, begins="validate")
        _say(channel, path="validate", **validate_forged(at, judges))
    shutil.rmtree(at)


if __name__ == "__main__":
    sys.exit(main())
