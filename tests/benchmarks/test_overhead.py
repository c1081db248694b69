"""What is counted as an allocation: memory that is asked for in pieces of 4 KiB or more, each once."""

import os
import subprocess
import sys

import pytest

from benchmarks.compiled import compiled
from benchmarks.suites import overhead
from benchmarks.targets import TARGETS

_CALLS = """
import ctypes, mmap, sys
from ctypes import c_int, c_int64, c_size_t, c_void_p

counter, work = sys.argv[1:]
asked, library = ctypes.CDLL(counter).large_allocations, ctypes.CDLL(None)
private, anonymous = mmap.MAP_PRIVATE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def function(name, *types):
    found = getattr(library, name)
    found.argtypes, found.restype = types, c_void_p
    return found


maps = {
    name: function(name, c_void_p, c_size_t, c_int, c_int, c_int, c_int64) for name in ("mmap", "mmap64")
}
malloc = function("malloc", c_size_t)
mremap = function("mremap", c_void_p, c_size_t, c_size_t, c_int)
opened = open(counter, "rb")
file = opened.fileno()
mapped = maps["mmap64"](None, 1 << 16, mmap.PROT_READ, anonymous, -1, 0)
call = eval("lambda: " + work)  # to compile it asks for memory, too
before = asked()
made = call()
found = asked() - before
assert made not in (None, 2**64 - 1), "refused"
print(found)
"""


@pytest.mark.parametrize(
    ("work", "count"),
    [
        ("malloc(1 << 12)", 1),
        ("malloc(1 << 26)", 1),
        ("malloc(100)", 0),
        ("maps['mmap'](None, 1 << 16, mmap.PROT_READ, anonymous, -1, 0)", 1),
        ("maps['mmap64'](None, 1 << 16, mmap.PROT_READ, anonymous, -1, 0)", 1),
        ("maps['mmap'](None, 1 << 12, mmap.PROT_READ, private, file, 0)", 0),
        ("maps['mmap64'](None, 1 << 12, mmap.PROT_READ, private, file, 0)", 0),
        ("mremap(mapped, 1 << 16, 1 << 17, 1)", 1),
        ("mremap(mapped, 1 << 16, 1 << 15, 1)", 0),
    ],
)
def test_what_a_process_asks_for_is_counted_once(work: str, count: int) -> None:
    counter = str(compiled(overhead._SOURCE))
    done = subprocess.run(
        [sys.executable, "-c", _CALLS, counter, work],
        env={**os.environ, "LD_PRELOAD": counter},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert int(done.stdout) == count


def test_the_target_is_about_every_case_that_counts() -> None:
    (target,) = (target for target in TARGETS if target.title.startswith("allocations"))
    assert set(target.values) == set(overhead.CASES)
