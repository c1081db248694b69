"""One system in a process of its own, so that none inherits another's threads, memory and packages."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
RESULTS = ROOT / "results"
ENVIRONMENTS = RESULTS / "environments.json"
"""Peer -> {"python": its interpreter} or {"reason": why it does not install}; without it all are in ours."""


class ProcessError(Exception):
    """A process that gave no answer; the message is its last words."""


def interpreter(peer: str) -> str:
    """The Python that has this peer.

    Raises:
        ProcessError: It does not install here.
    """
    found = json.loads(ENVIRONMENTS.read_text()).get(peer, {}) if ENVIRONMENTS.exists() else {}
    if reason := found.get("reason"):
        raise ProcessError(f"does not install: {reason}")
    python: str = found.get("python", sys.executable)
    return python


def run(peer: str, *arguments: str, patience: float) -> Any:
    """What `benchmarks.measure` answers within so many seconds.

    Raises:
        ProcessError: Nothing, or not in time.
    """
    command = [interpreter(peer), "-m", "benchmarks.measure", *arguments]
    with subprocess.Popen(
        command,
        cwd=ROOT.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            out, err = started.communicate(timeout=patience)
        except BaseException as error:
            os.killpg(started.pid, signal.SIGKILL)  # with those that it has started
            if isinstance(error, subprocess.TimeoutExpired):
                raise ProcessError(f"no answer within {patience:.0f} s") from error
            raise
    sys.stderr.write(err)
    if started.returncode:
        last = (err.strip().splitlines() or [f"ended with {started.returncode}"])[-1]
        raise ProcessError(last[:200])
    return json.loads(out.splitlines()[-1])
