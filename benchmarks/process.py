"""One system in a process of its own, so that none inherits another's threads, memory and packages."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from benchmarks.peer import Cannot
from benchmarks.suite import Found, Job

ROOT = Path(__file__).parent
RESULTS = ROOT / "results"
SHARED_MEMORY = Path("/dev/shm")
_TORCH = re.compile(r"torch_(\d+)_")
"""A name of torch, with the process that made it."""

_MOSAICML = re.compile(r"\d{6}_")

_GRACE = 2.0
"""Seconds for what a process has started, as a tracker of its semaphores, to end with it."""

ENVIRONMENTS = RESULTS / "environments.json"
"""Peer -> {"python": its interpreter} or {"reason": why it does not install}; without it all are in ours."""

_running: set["subprocess.Popen[str]"] = set()


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
    with (
        cleaned() as temporary,
        subprocess.Popen(
            command,
            cwd=ROOT.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=_environment() | {"TMPDIR": temporary},
        ) as started,
    ):
        _running.add(started)
        try:
            out, err = started.communicate(timeout=patience)
        except subprocess.TimeoutExpired as error:
            raise ProcessError(f"no answer within {patience:.0f} s") from error
        finally:
            _end(started)
            _running.discard(started)
    return _answer(started.returncode, out, err)


def again(suite: str, job: Job) -> Found:
    """What a suite measures in one more process, as this one has imported, opened and started too much.

    Raises:
        Cannot: The system can do nothing of it.
        ProcessError: It gave no answer.
    """
    command = [sys.executable, "-m", "benchmarks.measure", "measure", suite, described(job)]
    # No pipe for its errors: whatever it leaves running would keep that open.
    with TemporaryFile("w+") as errors:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
        errors.seek(0)
        found: Found | str = _answer(done.returncode, done.stdout, errors.read())
    if isinstance(found, str):
        raise Cannot(found)
    return found


def _answer(code: int, out: str, err: str) -> Any:
    """What a process that has ended so has answered; its errors become ours."""
    sys.stderr.write(err)
    if code:
        last = (err.strip().splitlines() or [f"ended with {code}"])[-1]
        raise ProcessError(last[:200])
    try:
        return json.loads(out)
    except ValueError as error:
        raise ProcessError("ended without an answer") from error


def described(job: Job) -> str:
    """A job for the command line of a process."""
    return json.dumps(asdict(job), default=str)


def _environment() -> dict[str, str]:
    # Bytecode is kept: without, every process would compile anew what it imports, for torch seconds.
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _end(started: subprocess.Popen[str]) -> None:
    """End it with all that it has started."""
    with suppress(ProcessLookupError):
        end = time.monotonic() + (_GRACE if started.poll() is not None else 0)
        while time.monotonic() < end:
            os.killpg(started.pid, 0)
            time.sleep(0.02)
        os.killpg(started.pid, signal.SIGKILL)


def end(*_: object) -> None:
    """End all that run, and this process: what a signal does."""
    for started in tuple(_running):
        _end(started)
    sys.exit("ended by a signal")


@contextmanager
def cleaned() -> Iterator[str]:
    """A folder for temporary files; gone at the end, as is what torch or MosaicML left in shared memory."""
    before = _shared()
    with TemporaryDirectory(prefix="bench-") as folder:
        try:
            yield folder
        finally:
            for path in _shared() - before:
                if _is_left(path):
                    path.unlink(missing_ok=True)


def _shared() -> set[Path]:
    paths = SHARED_MEMORY.glob("*")
    return {path for path in paths if _TORCH.match(path.name) or _MOSAICML.match(path.name)}


def _is_left(path: Path) -> bool:
    """Whether nobody can want it: others may have made theirs meanwhile, and must find it."""
    if named := _TORCH.match(path.name):
        return not Path("/proc", named[1]).exists()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):  # it has ended
            if str(path) in maps.read_text():
                return False
    return True
