"""The long form: ``python -m tests.faults`` (or ``nox -s faults``) prints what became of every fault."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.faults import caches
from tests.faults.counts import Counts
from tests.faults.peers import FLIPS, lines
from tests.faults.pool import Request, Result, tried
from tests.faults.trial import CONTROLS, PATHS


def main() -> int:
    """Try all cases, or show one; the status is 1 where something was that must not be."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--faults", type=int, default=10_000, help="plain faults to make")
    parser.add_argument("--forgeries", type=int, default=3_000, help="forged caches to make")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--case", type=int, help="show what one case does, and what becomes of it")
    parser.add_argument("--forged", action="store_true", help="--case is the number of a forged cache")
    parser.add_argument("--directory", type=Path, help="where to work; a temporary directory if not given")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory, prefix="faults-") as place:
        root, work = Path(place, "caches"), Path(place, "work")
        root.mkdir()
        work.mkdir()
        caches.build_all(root)
        if arguments.case is not None:
            request = Request(arguments.case, arguments.forged, validate=1)
            (result,) = tried(root, work, arguments.seed, [request], 1)
            return _show(result)
        requests = [Request(case) for case in range(arguments.faults)]
        requests += [Request(case, True) for case in range(arguments.forgeries)]
        counts = Counts()
        began = time.monotonic()
        for result in tried(root, work, arguments.seed, requests, arguments.workers):
            counts.add(result)
        status = _report(counts, time.monotonic() - began)
        print(f"\nPeers, {FLIPS} single flipped bits each")
        print("\n".join(lines(Path(place), arguments.seed)))
        return status


def _show(result: Result) -> int:
    print(f"{result.kind} in {result.region}: {result.what}")
    for path, outcome in result.paths.items():
        print(f"  {path}: {outcome['label']}, rules {outcome['rules']}")
        for label, details in outcome["failures"].items():
            print(*(f"    {label}: {detail}" for detail in details[:8]), sep="\n")
    return any(outcome["failures"] for path, outcome in result.paths.items() if path not in CONTROLS)


def _report(counts: Counts, seconds: float) -> int:
    plain, forged = counts.regions(forged=False), counts.regions(forged=True)
    everyone = [*PATHS, "together", "validate", "harness"]
    print("Faults, by what they were made in: refused at open, refused at a read, no effect")
    print("\n".join(counts.table(plain, PATHS)))
    print(f"must not be: {counts.failures(plain, everyone)}")
    print("\nForged caches, all digests right, likewise")
    print("\n".join(counts.table(forged, PATHS)))
    print(f"must not be: {counts.failures(forged, everyone)}")
    print(f"\nkinds: {counts.kinds()}")
    print(f"readings refused by rule: {counts.rules()}")
    print(f"validators: {counts.validated()}; problem for problem the same")
    print("\nControls, checks turned off: silently wrong readings of the same faults")
    toothless = []
    for control in CONTROLS:
        silent = counts.silent(control)
        print(f"  {control}: {json.dumps(silent)}")
        toothless += [part for part, count in silent.items() if not count and control == next(iter(CONTROLS))]
    print(f"\ngreatest memory of a worker: {counts.peak >> 20} MiB; {seconds:.0f} s; digest {counts.digest}")
    print("\n".join(counts.failed[:50]))
    for part in toothless:
        print(f"the control has nothing silent in {part}: the faults prove nothing there")
    return bool(counts.failed or toothless)


if __name__ == "__main__":
    sys.exit(main())
