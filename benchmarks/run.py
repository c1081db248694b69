"""The whole run: store, check, measure in turns, print, and keep the figures."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.machine import describe, installed
from benchmarks.peers import PEERS
from benchmarks.report import markdown
from benchmarks.suite import Found, Results
from benchmarks.suites import SUITES

ROOT = Path(__file__).parent
SMOKE_SECONDS, SECONDS = 0.1, 2.0


def main() -> None:
    """Run what the command line asks for."""
    options = arguments()
    refuse_debug_build()
    rounds = 1 if options.smoke else options.rounds
    seconds = SMOKE_SECONDS if options.smoke else SECONDS
    began = datetime.now(UTC)
    results_folder = ROOT / "results"
    results_folder.mkdir(exist_ok=True)
    # Beside the results and not in /tmp, which may be memory or too small.
    data = Path(tempfile.mkdtemp(prefix="data-", dir=results_folder))
    results: dict[str, Results] = {}
    try:
        header = {"started": began.isoformat(timespec="seconds"), **describe(data)}
        header["method"] = f"{rounds} rounds, systems in turns, a new process each time"
        for name in options.suite or SUITES:
            cases = [case for case in SUITES[name].CASES if case in (options.case or SUITES[name].CASES)]
            results[name] = run(name, cases, data / name, rounds, seconds, options.smoke)
    finally:
        shutil.rmtree(data)
    text = markdown(header, results, options.smoke)
    stem = f"{began:%Y%m%d-%H%M%S}{'-smoke' if options.smoke else ''}"
    (results_folder / f"{stem}.md").write_text(text)
    (results_folder / f"{stem}.json").write_text(json.dumps({"header": header, "results": results}, indent=1))
    print(text)
    print(f"\nKept as {results_folder / stem}.md and .json")


def arguments() -> argparse.Namespace:
    """The command line."""
    cases = list(dict.fromkeys(case for suite in SUITES.values() for case in suite.CASES))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", nargs="*", help=f"only these: {', '.join(SUITES)} (default: all)")
    parser.add_argument("--smoke", action="store_true", help="tiny data, one round: does it run? no figures")
    parser.add_argument("--rounds", type=int, default=5, help="turns of every system (default 5)")
    parser.add_argument("--case", action="append", choices=cases, help="only this; may repeat")
    options = parser.parse_args()
    if unknown := set(options.suite) - set(SUITES):
        parser.error(f"no such suite: {', '.join(unknown)}; there are {', '.join(SUITES)}")
    return options


def refuse_debug_build() -> None:
    """Figures of an unoptimised engine would be wrong by an order of magnitude, and would be quoted."""
    import dsrt_native._native

    profile = dsrt_native._native.__build_profile__
    if profile != "release":
        sys.exit(f"dsrt-native here is a {profile} build; benchmarks need an optimised one: nox -s bench")


def run(suite: str, cases: list[str], data: Path, rounds: int, seconds: float, smoke: bool) -> Results:
    """The figures of every turn, by case, work and system."""
    peers = [peer for peer in PEERS if installed(PEERS[peer].distribution)]
    for absent in set(PEERS) - set(peers):
        say(f"{absent} is not installed and left out")
    rounds = min(rounds, SUITES[suite].MOST_ROUNDS)
    results: Results = {}
    for case in cases:
        for peer in peers:
            say(f"{suite} {case}: {peer} is prepared and checked")
            process(suite, "prepare", peer, case, data, seconds, smoke)
        figures: dict[str, dict[str, list[float] | str]] = {}
        for turn in range(rounds):
            # The first of a round differs from round to round: a machine that slows down hits all alike.
            for peer in peers[turn % len(peers) :] + peers[: turn % len(peers)]:
                say(f"{suite} {case}: round {turn + 1} of {rounds}, {peer}")
                for work, figure in process(suite, "measure", peer, case, data, seconds, smoke).items():
                    keep(figures.setdefault(work, {}), peer, figure)
        results[case] = figures
        shutil.rmtree(data / case)
    return results


def keep(systems: dict[str, list[float] | str], peer: str, figure: float | str) -> None:
    """Add the figure of a turn to those before it, or the reason why there is none."""
    known = systems.setdefault(peer, figure if isinstance(figure, str) else [])
    if isinstance(known, list) and not isinstance(figure, str):
        known.append(figure)


def process(suite: str, action: str, peer: str, case: str, data: Path, seconds: float, smoke: bool) -> Found:
    """One system in a process of its own, so that none inherits another's threads and memory."""
    command = [sys.executable, "-m", "benchmarks.measure", suite, action, peer, case, str(data / case / peer)]
    command += [str(seconds), *(["smoke"] if smoke else [])]
    done = subprocess.run(command, cwd=ROOT.parent, stdout=subprocess.PIPE, check=True, text=True)
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def say(text: str) -> None:
    """What is going on, on standard error; standard output is the report's."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)
