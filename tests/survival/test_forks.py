"""Processes and threads that share a writer, or leave it open."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dsrt_format import reference
from tests.survival.disk import TARGET, names

BEGIN = """
import os, signal, sys, threading, time
from dsrt_format import Bytes
from dsrt_native import CacheWriter
PATH = sys.argv[1]
def open_writer(fingerprint="f"):
    return CacheWriter(PATH, {"x": Bytes(codec="zstd")}, {"i": "int64"}, fingerprint=fingerprint,
                       samples_per_shard=4, threads=2, resume=True if fingerprint else None)
def fill(writer, count=100):
    for i in range(writer.count, count):
        writer.append({"x": b"%d" % i, "i": i})
"""

END = """
with open_writer() as writer:
    print(writer.resumed_from)
    fill(writer, max(100, writer.count))
"""


def script(root: Path, body: str, *, status: int = 0) -> str:
    command = [sys.executable, "-W", "error", "-c", BEGIN + body, str(root / TARGET)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    return output


def complete(root: Path) -> int:
    """Build to the end in another process; return how many samples were kept."""
    kept = int(script(root, END))
    found = [sample["i"] for sample in reference.read(root / TARGET)]
    assert found == list(range(max(100, kept)))
    assert names(root) == [TARGET]
    return kept


FORK = """
with open_writer() as writer:
    fill(writer, 50)
    if (child := os.fork()) == 0:
        {child}
    assert os.waitpid(child, 0)[1] == 0
    fill(writer)
"""


@pytest.mark.parametrize(
    "child",
    [
        "os._exit(0)",
        "sys.exit(0)",
        "del writer; os._exit(0)",
        "writer.__exit__(ValueError, ValueError(), None); os._exit(0)",
        "import gc; gc.collect(); writer.durable_count; os._exit(0)",
    ],
)
def test_a_fork_of_a_process_with_an_open_writer_ends_and_harms_nothing(tmp_path, child):
    script(tmp_path, FORK.format(child=child))
    assert complete_already(tmp_path)


def complete_already(root: Path) -> bool:
    samples = reference.read(root / TARGET)
    return [one["i"] for one in samples] == list(range(100)) and names(root) == [TARGET]


def test_a_fork_may_write_another_cache_meanwhile(tmp_path):
    body = """
with open_writer() as writer:
    fill(writer, 50)
    if (child := os.fork()) == 0:
        PATH = os.path.join(os.path.dirname(PATH), "other")
        with open_writer() as other:
            fill(other)
        os._exit(0)
    fill(writer)
    assert os.waitpid(child, 0)[1] == 0
"""
    script(tmp_path, body)
    assert names(tmp_path) == ["other", TARGET]
    for name in names(tmp_path):
        assert [one["i"] for one in reference.read(tmp_path / name)] == list(range(100))


def test_a_fork_that_outlives_a_killed_writer_does_not_keep_its_lock(tmp_path):
    body = """
writer = open_writer()
fill(writer, 50)
reader, output = os.pipe()
if (child := os.fork()) == 0:
    os.setsid()
    os.closerange(0, 3)
    signal.pause()
print(child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    command = [sys.executable, "-c", BEGIN + body, str(tmp_path / TARGET)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done
    try:
        again = subprocess.run(
            [sys.executable, "-c", BEGIN + END, str(tmp_path / TARGET)], capture_output=True, text=True
        )
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)
    assert again.returncode == 0, again.stderr
    assert complete_already(tmp_path)


@pytest.mark.parametrize(
    "keep",
    [
        "writer = open_writer()",
        "writer = open_writer(None)",
        "import builtins; builtins.kept = writer = open_writer()",
    ],
)
def test_a_writer_left_open_at_the_end_of_the_interpreter_is_an_aborted_one(tmp_path, keep):
    script(tmp_path, f"{keep}\nfill(writer, 50)")
    assert not (tmp_path / TARGET).exists()
    assert complete(tmp_path) <= 50


def test_a_writer_in_a_thread_that_is_left_behind_does_not_hinder_the_end(tmp_path):
    body = """
def forever():
    with open_writer() as writer:
        fill(writer, 10**9)
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.3)
"""
    script(tmp_path, body)
    assert not (tmp_path / TARGET).exists()
    complete(tmp_path)


def test_a_thread_that_appends_while_another_aborts_gets_an_error_and_nothing_breaks(tmp_path):
    body = """
seen = []
for _ in range(20):
    writer = open_writer()
    def append():
        try:
            fill(writer, 10**9)
        except RuntimeError as error:
            seen.append(str(error))
    threads = [threading.Thread(target=append) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.01)
    while True:
        try:
            writer.__exit__(ValueError, ValueError(), None)
            break
        except RuntimeError as error:
            seen.append(str(error))
    for thread in threads:
        thread.join()
assert len(seen) >= 20, seen
assert all("closed" in one or "thread" in one for one in seen), set(seen)
"""
    script(tmp_path, body)
    assert not (tmp_path / TARGET).exists()
