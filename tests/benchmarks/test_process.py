"""A process answers or is told to have not; what is removed at its end is what nobody can want."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks import process
from benchmarks.suite import Job


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


def test_whatever_a_system_prints_is_no_part_of_the_answer():
    work = (
        "import atexit, os, sys; atexit.register(os.system, 'echo bye');"
        "from benchmarks.measure import main; sys.argv[1:] = ['about', 'memmap']; main(); print('done')"
    )
    done = subprocess.run(
        [sys.executable, "-c", work], capture_output=True, text=True, cwd=process.ROOT.parent
    )
    assert set(json.loads(done.stdout)) == {"versions", "reads", "writes"}
    assert "bye" in done.stderr


@pytest.mark.parametrize("said", ["", "echo what", "echo what; exit 1"])
def test_a_process_that_ends_without_an_answer_is_an_error_of_its_own(said, tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{said}\n")
    python.chmod(0o700)
    monkeypatch.setattr(process, "interpreter", lambda _: str(python))
    with pytest.raises(process.ProcessError, match="ended with"):
        process.run("lmdb", "about", "lmdb", patience=60)


def test_one_more_process_that_fails_is_told_by_its_last_line_and_all_of_it_is_seen(
    tmp_path, monkeypatch, capsys
):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho Traceback >&2\necho 'ValueError: why' >&2\nexit 1\n")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(process.ProcessError, match=r"^ValueError: why$"):
        process.again("workers", Job("memmap", "photographs", tmp_path, tmp_path, 0.1, smoke=True))
    assert capsys.readouterr().err == "Traceback\nValueError: why\n"
