"""The work of one process: a single system on a single case of a suite. It prints JSON, and nothing else.

python -m benchmarks.measure about PEER
python -m benchmarks.measure store|prepare|measure|both SUITE JOB, the job as JSON
"""

import json
import os
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import page_cache, sweep
from benchmarks.peer import Cannot, load
from benchmarks.store import Store, workload_of
from benchmarks.suite import Job, Suite
from benchmarks.suites import SUITES

COLD = ("cold",)
"""Suites that do not want in memory what they read."""


def main() -> None:
    """Do as the arguments say."""
    action, what, *job = sys.argv[1:]
    # Whatever a system prints, at its end too, goes to standard error.
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    found: Any
    try:
        found = about(what) if action == "about" else work(action, what, *job)
    except Cannot as reason:
        found = str(reason)
    with answer:
        json.dump(found, answer)


def about(peer: str) -> dict[str, str]:
    """What the report says of a system."""
    found = load(peer).ABOUT
    versions = ", ".join(f"{name} {version(name)}" for name in found.distribution.split())
    return {"versions": versions, "reads": found.reads, "writes": found.writes}


def work(action: str, name: str, described: str) -> Any:
    """A part of a suite."""
    suite = SUITES[name]
    values = json.loads(described)
    job = Job(**values | {name: Path(values[name]) for name in ("folder", "stores")})
    if job.smoke:
        peer = load(job.peer)
        peer.SWEEP = {function: configs[:1] for function, configs in peer.SWEEP.items()}
    if action == "store":
        workload = workload_of(suite.CASES[job.case])
        return Store.of(job, workload).write() if workload else None
    if action in ("prepare", "measure") and suite.STORES and name not in COLD:
        _warm(job, suite)
    if action == "measure":
        return suite.measure(job)
    job.folder.mkdir(parents=True)
    tried = suite.prepare(job)
    if action == "prepare":
        return tried
    best = {work: sweep.best(attempts) for work, attempts in tried.items()}
    return tried, suite.measure(replace(job, settings=best))


def _warm(job: Job, suite: Suite) -> None:
    """Have in memory what the job reads: all layouts, or those of the settings that it has.

    The other layouts, which nothing reads any longer, leave the room to what else is measured.
    """
    workload = workload_of(suite.CASES[job.case])
    if workload:
        store = Store.of(job, workload)
        there = store.there()
        settings = [setting for setting in job.settings.values() if not isinstance(setting, str)]
        used = {store.place(setting) for setting in settings} if job.settings else there
        for place in there - used:
            page_cache.drop(place)
        for place in used:
            page_cache.warm(place)


if __name__ == "__main__":
    main()
