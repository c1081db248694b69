"""Children that are born with everything imported: one process imports, and forks for every job.

A build takes a tenth of a second, the imports take half of one. The nursery itself never uses the product, so
every child is a process without threads, as after a start of the interpreter.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.survival import job as jobs
from tests.survival.job import Job

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 120.0


@dataclass
class Child:
    """A running job. Its output is at its end only when every process that the job started has ended."""

    nursery: "Nursery"
    pid: int
    gate: int
    pipe: int
    output: int
    reports: list[dict[str, Any]] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    status: int | None = None
    _rest: bytes = b""

    def read(self, seconds: float) -> bool:
        """Take what has been reported, waiting at most so long for it; False at the end."""
        if not select.select([self.pipe], [], [], max(0.0, seconds))[0]:
            return True
        block = os.read(self.pipe, 1 << 16)
        *lines, self._rest = (self._rest + block).split(b"\n")
        self.reports += map(json.loads, lines)
        return bool(block)

    def report(self, event: str) -> dict[str, Any] | None:
        """Return the last report of a kind, None if there is none."""
        return next((one for one in reversed(self.reports) if one["event"] == event), None)

    def wait_for(self, event: str) -> dict[str, Any] | None:
        """Wait for a report of a kind; None if the child ended without."""
        until = time.monotonic() + PATIENCE
        while (found := self.report(event)) is None and self.read(until - time.monotonic()):
            assert time.monotonic() < until, f"no {event} of {self}"
        return found

    def start(self) -> None:
        """Open the gate of a gated job."""
        os.write(self.gate, b"\n")

    def send(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the child, or to it and all processes it started, as a terminal does."""
        try:
            (os.killpg if group else os.kill)(self.pid, number)
        except ProcessLookupError:
            return

    def end(self) -> "Child":
        """Wait until the child and everything it started have ended, and read all reports."""
        until = time.monotonic() + PATIENCE
        while self.read(until - time.monotonic()):
            assert time.monotonic() < until, f"this job does not end: {self}"
        while select.select([self.output], [], [], max(0.0, until - time.monotonic()))[0]:
            if not (block := os.read(self.output, 1 << 16)):
                break
            self.noise += block.decode().splitlines()
        assert time.monotonic() < until, f"a process of this job does not end: {self}"
        for descriptor in (self.gate, self.pipe, self.output):
            os.close(descriptor)
        self.status = os.waitstatus_to_exitcode(self.nursery.ask({"wait": self.pid})["status"])
        return self

    @property
    def warnings(self) -> list[str]:
        """What it was warned of."""
        return [one["message"] for one in self.reports if one["event"] == "warned"]

    @property
    def durable(self) -> int:
        """How many samples it has said survive a crash."""
        counts = [one.get("count", one.get("resumed", 0)) for one in self.reports]
        return max(counts, default=0)


class Nursery:
    """The process that forks. Close it, or use it as a context manager."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PATIENCE)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.survival.nursery", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
                start_new_session=True,
            )

    def ask(self, request: dict[str, Any], *descriptors: int) -> dict[str, Any]:
        """Send a request and return the answer."""
        socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)
        answer: dict[str, Any] = json.loads(self._socket.recv(1 << 16))
        return answer

    def start(self, job: Job) -> Child:
        """Start a job."""
        (stdin, gate), (pipe, reports), (output, stdout) = os.pipe(), os.pipe(), os.pipe()
        pid = self.ask({"job": asdict(job)}, stdin, stdout, reports)["pid"]
        for descriptor in (stdin, stdout, reports):
            os.close(descriptor)
        return Child(self, pid, gate, pipe, output)

    def run(self, job: Job) -> Child:
        """Do a job to its end."""
        return self.start(job).end()

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.wait(PATIENCE)


def _serve(control: socket.socket) -> int:
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 3)
        if not message:
            return 0
        request = json.loads(message)
        if "wait" in request:
            control.send(json.dumps({"status": os.waitpid(request["wait"], 0)[1]}).encode())
            continue
        if (pid := os.fork()) == 0:
            os.setsid()
            control.close()
            for standard, descriptor in enumerate([*descriptors[:2], descriptors[1]]):
                os.dup2(descriptor, standard)
            for descriptor in descriptors[:2]:
                os.close(descriptor)
            jobs.channel = descriptors[2]
            return jobs.run(Job(**request["job"]))
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(json.dumps({"pid": pid}).encode())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
