"""Token sequences of their own length each: median 403, mean about 550."""

from benchmarks.workload import Workload

WORKLOAD = Workload("tokens", "ragged tokens, uint16, raw", "uint16", 200_000, 256, lengths=(6.0, 0.8))
