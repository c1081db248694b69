"""The suites, one a file. A new one: a file as `benchmarks.suite` describes it, and its name here."""

from benchmarks.suite import Suite
from benchmarks.suites import memory, read, verify, workers, write

SUITES: dict[str, Suite] = {
    "read": read,
    "write": write,
    "memory": memory,
    "workers": workers,
    "verify": verify,
}
