"""Builds the engine's targets, then runs them and the plain ones, each for a time: `nox -s fuzz`.

Usage: python -m tests.fuzz.session [SECONDS [TARGET ...]]

Each begins from the corpus. What it learns, and what it finds, is kept under
packages/dsrt-native/fuzz/artifacts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from .targets import NAMES

CRATE = Path(__file__).parents[2] / "packages/dsrt-native/fuzz"
ARTIFACTS = CRATE / "artifacts"
TRIPLE = "x86_64-unknown-linux-gnu"
ENGINE = ["manifest", "index", "record", "metadata", "journal"]
# Coverage of the compiler that is installed: libFuzzer needs no other.
COVERAGE = " ".join(
    [
        "--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module",
        "-Cllvm-args=-sanitizer-coverage-level=4",
        "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
        "-Cllvm-args=-sanitizer-coverage-pc-table",
        "-Cllvm-args=-sanitizer-coverage-trace-compares",
    ]
)
LIMITS = ["-max_len=8192", "-timeout=30", "-rss_limit_mb=3000", "-print_final_stats=1"]
PROGRESS = re.compile(r"^#\d+\s+\w+\s+cov: (\d+) .*corp: (\d+)/", re.MULTILINE)
EXECUTIONS = re.compile(r"number_of_executed_units: (\d+)|^Done (\d+) (?:runs )?in", re.MULTILINE)


def build() -> dict[str, list[str]]:
    """Builds the engine's targets, and returns the command of every target by its name."""
    target = CRATE / "target"
    command = ["cargo", "build", "--locked", "--release", "--target", TRIPLE]
    env = {**os.environ, "RUSTFLAGS": COVERAGE, "CARGO_TARGET_DIR": str(target)}
    subprocess.run(command, cwd=CRATE, env=env, check=True)
    engine = {name: [str(target / TRIPLE / "release" / name)] for name in ENGINE}
    plain = {f"plain-{name}": [sys.executable, "-m", "tests.fuzz", name] for name in NAMES}
    return engine | plain


def fuzz(name: str, command: list[str], seconds: int) -> bool:
    """Runs one target and prints what came of it. Whether it found nothing."""
    learnt, finds = ARTIFACTS / name / "learnt", ARTIFACTS / name / "finds"
    for folder in (learnt, finds):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(finds.iterdir())
    corpus = CRATE / "corpus" / name.removeprefix("plain-")
    options = [f"-max_total_time={seconds}", *LIMITS, f"-artifact_prefix={finds}/"]
    ran = subprocess.run(
        [*command, *options, str(learnt), str(corpus)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output = ran.stdout.decode(errors="replace")
    (ARTIFACTS / name / "log").write_text(output)
    edges, entries = PROGRESS.findall(output)[-1] if PROGRESS.search(output) else ("?", "?")
    runs = EXECUTIONS.search(output)
    executions = next(filter(None, runs.groups()), "?") if runs else "?"
    found = sorted(set(finds.iterdir()) - before)
    print(
        f"{name:15} {executions:>11} executions {edges:>6} edges {entries:>6} inputs {len(found):>3} finds",
        flush=True,
    )
    for path in found:
        print(f"    {path}")
    if ran.returncode and not found:
        print(output[-2000:])
    return ran.returncode == 0


def main(arguments: list[str]) -> int:
    """Runs what was asked for; 1 if anything was found."""
    seconds = int(arguments[0]) if arguments else 60
    commands = build()
    wanted = arguments[1:] or list(commands)
    if unknown := set(wanted) - set(commands):
        raise SystemExit(f"no target {', '.join(sorted(unknown))}; they are {', '.join(commands)}")
    results = [fuzz(name, commands[name], seconds) for name in wanted]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
