"""What a benchmark removes at its end is what nobody can want."""

import os
import subprocess
import sys

from benchmarks import process


def test_shared_memory_of_the_dead_is_removed_and_that_of_the_living_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "SHARED_MEMORY", tmp_path)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    mine = f"torch_{os.getpid()}_3_0"
    old = tmp_path / f"torch_{dead.pid}_1_0"
    old.touch()
    with process.cleaned():
        for name in (f"torch_{dead.pid}_2_0", mine, "psm_0123abcd", "000001_locals"):
            (tmp_path / name).touch()
    assert {path.name for path in tmp_path.iterdir()} == {
        old.name,
        mine,
        "psm_0123abcd",
    }
