"""What the figures were measured on; a figure without this says nothing."""

import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_DISTRIBUTIONS = ("dsrt-format", "dsrt-native", "numpy", "polars")
"""What is measured and what it builds on; what else a system needs it says itself."""


def describe(data: Path) -> dict[str, str]:
    """Machine and versions, as lines of a header; `data` is where the stores lie."""
    ours = [f"{name} {found}" for name in _DISTRIBUTIONS if (found := installed(name))]
    return {
        "cpu": f"{_first('/proc/cpuinfo', 'model name') or platform.processor()}, "
        f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} logical cores",
        "memory": _first("/proc/meminfo", "MemTotal") or "unknown",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "data on": _filesystem(data),
        "scheduling": _scheduling(),
        "load": "{:.2f} {:.2f} {:.2f} at the start (1, 5, 15 minutes)".format(*os.getloadavg()),
        "python": f"{sys.implementation.name} {platform.python_version()}",
        "versions": ", ".join(ours),
        **commit(),
    }


def versions(*said: str) -> str:
    """What each has said, every package once; twice, if two systems have different versions of it."""
    return ", ".join(dict.fromkeys(", ".join(said).split(", ")))


def _scheduling() -> str:
    """The policy that the kernel has for this process, which its descendants inherit."""
    policies = {os.SCHED_OTHER: "usual", os.SCHED_RR: "round robin", os.SCHED_FIFO: "first in, first out"}
    policy = os.sched_getscheduler(0)
    priority = os.sched_getparam(0).sched_priority
    named = policies.get(policy, f"policy {policy}")
    if priority:
        # Nothing here asks for it.
        return (
            f"{named}, real-time priority {priority}, set from outside: a consumer that wakes may wait for a "
            "turn of its own workers, so systems with more threads or processes than cores look slower"
        )
    return f"{named}, nice {os.getpriority(os.PRIO_PROCESS, 0)}"


def commit() -> dict[str, str]:
    """What is measured, where this is a checkout of git; `-dirty` after it where files differ from it."""
    if (git := shutil.which("git")) is None:
        return {}
    command = [git, "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return {} if said.returncode else {"commit": said.stdout.strip()}


def installed(distribution: str) -> str | None:
    """The version of a distribution, or None if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _first(path: str, key: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)


def _filesystem(path: Path) -> str:
    place = str(path.resolve())
    best = ("", "unknown")
    try:
        mounts = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return best[1]
    for line in mounts:
        _, mount, kind, *_ = line.split()
        inside = place == mount or place.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best[0]):
            best = (mount, kind)
    return best[1]
