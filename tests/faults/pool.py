"""Processes that try cases, and what becomes of a case that kills one."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 60.0
"""Seconds that one step of a case may take. They take hundredths."""

RECYCLE = 400
"""So many cases a process tries before a fresh one takes over."""


@dataclass(frozen=True)
class Request:
    """One case to be tried; `validate` is how often validators look, 1 for always."""

    case: int
    forged: bool = False
    validate: int = 5


@dataclass
class Result:
    """What became of a case: by path an outcome as `tests.faults.trial.outcome` has it."""

    request: Request
    kind: str = ""
    region: str = ""
    what: str = ""
    paths: dict[str, dict[str, Any]] = field(default_factory=dict)
    peak: int = 0


class Worker:
    """A process that tries one case after another, and is replaced when it dies of one."""

    def __init__(self, root: Path, place: Path, seed: int) -> None:
        self._root, self._place, self._seed = root, place, seed
        self._process: subprocess.Popen[bytes] | None = None
        self._tried = 0
        self._rest = b""
        self.result: Result | None = None
        self._begun: str | None = None
        self._until = 0.0

    @property
    def channel(self) -> int:
        """The descriptor on which it reports."""
        return self._channel

    def give(self, request: Request, skip: Iterable[str] = ()) -> None:
        """Begin a case, in a fresh process if it is time for one."""
        if self._process is None or self._tried >= RECYCLE:
            self.close()
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        self._tried += 1
        self.result = self.result if skip and self.result is not None else Result(request)
        self._begun = None
        self._until = time.monotonic() + PATIENCE
        line = {
            "case": request.case,
            "forged": request.forged,
            "validate": request.validate,
            "skip": list(skip),
        }
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        self._process.stdin.flush()

    def advance(self) -> Result | None:
        """Take what has been reported; return the result once the case is at its end."""
        assert self.result is not None
        block = os.read(self._channel, 1 << 16)
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            report = json.loads(line)
            self._until = time.monotonic() + PATIENCE
            if "done" in report:
                self.result.peak = report["peak"]
                return self.result
            if "what" in report:
                self.result.kind, self.result.region = report["kind"], report["region"]
                self.result.what = report["what"]
            elif "begins" in report:
                self._begun = report["begins"]
            else:
                self.result.paths[report.pop("path")] = report
        if not block:
            self._died("crash")
        return None

    def check_time(self) -> None:
        """End a process that takes too long."""
        if time.monotonic() > self._until and self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._died("timeout")

    def _died(self, label: str) -> None:
        """Count the step that killed the process, and go on behind it in another one."""
        assert self.result is not None
        assert self._process is not None
        status = self._process.wait()
        step = self._begun or "harness"
        self.result.paths[step] = {
            "label": label,
            "rules": {},
            "failures": {label: [f"the process ended with {status}"]},
        }
        os.close(self._channel)
        self._process = None
        self.give(self.result.request, skip=list(self.result.paths))

    def _start(self) -> None:
        self._channel, theirs = os.pipe()
        place = tempfile.mkdtemp(dir=self._place)
        command = [
            sys.executable,
            "-m",
            "tests.faults.worker",
            str(self._root),
            place,
            str(self._seed),
            str(theirs),
        ]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[theirs], cwd=ROOT)
        os.close(theirs)
        self._tried, self._rest = 0, b""

    def close(self) -> None:
        """Let the process end."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
            os.close(self._channel)
            self._process = None


def tried(root: Path, place: Path, seed: int, requests: Iterable[Request], workers: int) -> Iterator[Result]:
    """Yield the results of all requests, in the order in which they come to an end."""
    waiting = iter(requests)
    crew = [Worker(root, place, seed) for _ in range(workers)]
    busy: list[Worker] = []
    try:
        for worker in crew:
            if (request := next(waiting, None)) is not None:
                worker.give(request)
                busy.append(worker)
        while busy:
            ready, _, _ = select.select([worker.channel for worker in busy], [], [], 1.0)
            for worker in list(busy):
                result = worker.advance() if worker.channel in ready else worker.check_time()
                if result is None:
                    continue
                yield result
                if (request := next(waiting, None)) is None:
                    busy.remove(worker)
                else:
                    worker.give(request)
    finally:
        for worker in crew:
            worker.close()
