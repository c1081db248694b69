"""Peak memory of a build, by the number of samples; `benchmarks memory` has its figures beside the peers'."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import re, sys
from pathlib import Path
import numpy as np
from dsrt_format import Dense, Ragged, Text
from dsrt_native import CacheWriter
path, count = sys.argv[1], int(sys.argv[2])
def status(key):
    return re.search(rf"^{key}:\\s*(\\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)[1]
fields = {"x": Dense("float32", (8,)), "tokens": Ragged("uint16", codec="zstd"), "text": Text()}
x, tokens = np.arange(8, dtype=np.float32), np.arange(20, dtype=np.uint16)
with CacheWriter(path, fields, {"i": "int64", "name": "string"}, samples_per_shard=1 << 14) as writer:
    # proc(5): the peak, VmHWM, becomes what is resident now. That of getrusage may be the parent.s.
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    for i in range(count):
        name = f"a name of some length, number {i}"
        writer.append({"x": x, "tokens": tokens[: i % 20], "text": name, "i": i, "name": name})
print(before, status("VmHWM"))
"""


def peak(path: Path, count: int) -> tuple[int, int]:
    """Return the resident set in bytes before the first sample, and its peak until the end."""
    command = [sys.executable, "-c", SCRIPT, str(path), str(count)]
    before, after = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(before) << 10, int(after) << 10
