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
from benchmarks.report import Results, markdown
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).parent
SMOKE_SECONDS, SECONDS = 0.1, 2.0


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny data, one round: does it run? no figures")
    parser.add_argument("--rounds", type=int, default=5, help="turns of every system (default 5)")
    parser.add_argument("--workload", action="append", choices=list(WORKLOADS), help="only this; may repeat")
    options = parser.parse_args()
    refuse_debug_build()
    rounds = 1 if options.smoke else options.rounds
    seconds = SMOKE_SECONDS if options.smoke else SECONDS
    began = datetime.now(UTC)
    results_folder = ROOT / "results"
    results_folder.mkdir(exist_ok=True)
    # Beside the results and not in /tmp, which may be memory or too small.
    data = Path(tempfile.mkdtemp(prefix="data-", dir=results_folder))
    try:
        header = {"started": began.isoformat(timespec="seconds"), **describe(data)}
        header["method"] = f"{rounds} rounds of {seconds} s each, systems in turns, a new process each time"
        results = run(options.workload or list(WORKLOADS), data, rounds, seconds, options.smoke)
    finally:
        shutil.rmtree(data)
    text = markdown(header, results, options.smoke)
    stem = f"{began:%Y%m%d-%H%M%S}{'-smoke' if options.smoke else ''}"
    (results_folder / f"{stem}.md").write_text(text)
    (results_folder / f"{stem}.json").write_text(json.dumps({"header": header, "results": results}, indent=1))
    print(text)
    print(f"\nKept as {results_folder / stem}.md and .json")


def refuse_debug_build() -> None:
    """Figures of an unoptimised engine would be wrong by an order of magnitude, and would be quoted."""
    import dsrt_native._native

    profile = dsrt_native._native.__build_profile__
    if profile != "release":
        sys.exit(f"dsrt-native here is a {profile} build; benchmarks need an optimised one: nox -s bench")


def run(names: list[str], data: Path, rounds: int, seconds: float, smoke: bool) -> Results:
    """Samples per second of every turn, by workload, work and system."""
    peers = [peer for peer in PEERS if installed(PEERS[peer].distribution)]
    for absent in set(PEERS) - set(peers):
        say(f"{absent} is not installed and left out")
    results: Results = {}
    for name in names:
        for peer in peers:
            say(f"{name}: {peer} stores it")
            process("write", peer, name, data, seconds, smoke)
        figures: dict[str, dict[str, list[float]]] = {}
        for turn in range(rounds):
            # The first of a round differs from round to round: a machine that slows down hits all alike.
            for peer in peers[turn % len(peers) :] + peers[: turn % len(peers)]:
                say(f"{name}: round {turn + 1} of {rounds}, {peer}")
                for work, rate in process("read", peer, name, data, seconds, smoke).items():
                    figures.setdefault(work, {}).setdefault(peer, []).append(rate)
        results[name] = figures
        for peer in peers:
            shutil.rmtree(data / peer / name)
    return results


def process(action: str, peer: str, name: str, data: Path, seconds: float, smoke: bool) -> dict[str, float]:
    """One system in a process of its own, so that none inherits another's threads and memory."""
    command = [sys.executable, "-m", "benchmarks.measure", action, peer, name, str(data / peer / name)]
    command += [str(seconds), *(["smoke"] if smoke else [])]
    done = subprocess.run(command, cwd=ROOT.parent, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def say(text: str) -> None:
    """What is going on, on standard error; standard output is the report's."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)
