"""All or nothing: whatever ends a writer, its target is a complete cache or as it was before."""

import errno
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from dsrt_format import Bytes, CacheExistsError, CacheLockedError, Dense, Manifest, reference
from dsrt_native import Cache, CacheWriter

from .directories import names

ENDLESS = """
import sys
from dsrt_format import Bytes
from dsrt_native import CacheWriter
with CacheWriter(sys.argv[1], {"x": Bytes(codec="zstd")}, {"i": "int64"}, samples_per_shard=2) as writer:
    while True:
        writer.append({"x": b"x" * 1000, "i": 1})
        if writer.count == 5:
            print("ready", flush=True)
"""


def start(path: Path) -> "subprocess.Popen[str]":
    """Start a process that writes the cache and never ends, and wait until it is in the middle."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def write(path: Path, *values: int, replace: bool = False) -> None:
    with CacheWriter(path, {"x": Dense("int64")}, replace=replace) as writer:
        for value in values:
            writer.append({"x": value})


def test_a_cache_appears_when_it_is_complete_and_not_before(tmp_path):
    with CacheWriter(tmp_path / "a" / "x", {"x": Dense("int64")}) as writer:
        writer.append({"x": 1})
        assert names(tmp_path / "a") == [".x.building"]
    assert names(tmp_path / "a") == ["x"]


def test_an_exception_discards_everything_and_is_the_one_that_is_seen(tmp_path):
    with pytest.raises(ZeroDivisionError), CacheWriter(tmp_path / "a" / "x", {"x": Dense("int64")}) as writer:
        writer.append({"x": 1 // 0})
    assert names(tmp_path) == []


def test_a_writer_without_a_with_block_leaves_nothing(tmp_path):
    writer = CacheWriter(tmp_path / "x", {"x": Dense("int64")})
    writer.append({"x": 1})
    with pytest.warns(RuntimeWarning, match=r"x: 1 samples were appended and are not published.*with Cache"):
        del writer
    assert names(tmp_path) == []


def test_a_writer_without_a_with_block_warns_of_nothing_but_samples(tmp_path):
    for writer in (CacheWriter(tmp_path / "x", {"x": Dense("int64")}), CacheWriter.__new__(CacheWriter)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            writer.__del__()
        assert seen == []


LEFT = """
import os, sys
from dsrt_format import Dense
from dsrt_native import CacheWriter
writer = CacheWriter(sys.argv[1], {"x": Dense("int64")})
writer.append({"x": 1})
if (child := os.fork()) == 0:
    sys.exit()
os.waitpid(child, 0)
"""


def test_a_writer_that_is_left_at_the_end_warns_in_its_own_process_alone(tmp_path):
    command = [sys.executable, "-c", LEFT, str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count("samples were appended") == 1, done.stderr
    assert not (tmp_path / "x").exists()


def test_a_closed_writer_says_so(tmp_path):
    with CacheWriter(tmp_path / "x", {"x": Dense("int64")}) as writer:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        writer.append({"x": 1})
    with writer:
        pass
    assert writer.count == 0


def test_a_published_cache_is_not_overwritten(tmp_path):
    write(tmp_path / "x", 1)
    with pytest.raises(CacheExistsError, match="published cache already"):
        write(tmp_path / "x", 2)
    assert reference.read(tmp_path / "x") == [{"x": 1}]
    assert names(tmp_path) == ["x"]


def test_replacing_happens_at_the_end_and_only_if_there_is_one(tmp_path):
    write(tmp_path / "x", 1)
    with (
        pytest.raises(ZeroDivisionError),
        CacheWriter(tmp_path / "x", {"x": Dense("int64")}, replace=True) as writer,
    ):
        writer.append({"x": 1 // 0})
    with CacheWriter(tmp_path / "x", {"x": Dense("int64")}, replace=True) as writer:
        writer.append({"x": 2})
        assert reference.read(tmp_path / "x") == [{"x": 1}]
    assert reference.read(tmp_path / "x") == [{"x": 2}]
    assert names(tmp_path) == ["x"]
    write(tmp_path / "y", 3, replace=True)
    assert reference.read(tmp_path / "y") == [{"x": 3}]


def test_a_directory_of_another_program_is_not_replaced(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "manifest.json").write_text('{"name": "webpack"}')
    with pytest.raises(CacheExistsError, match="not sound"):
        write(tmp_path / "x", 1, replace=True)
    assert names(tmp_path / "x") == ["manifest.json"]


def test_a_target_that_appears_meanwhile_wins(tmp_path):
    writer = CacheWriter(tmp_path / "x", {"x": Dense("int64")})
    (tmp_path / "x").mkdir()
    with pytest.raises(CacheExistsError), writer:
        writer.append({"x": 1})
    assert names(tmp_path) == ["x"]
    assert names(tmp_path / "x") == []


def test_a_relative_path_means_the_directory_of_the_moment_the_writer_was_made(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with CacheWriter("x", {"x": Dense("int64")}):
        os.chdir("elsewhere")
    assert names(tmp_path) == ["elsewhere", "x"]
    assert names(tmp_path / "elsewhere") == []


def test_a_second_writer_is_told_which_process_has_the_lock(tmp_path):
    process = start(tmp_path / "x")
    try:
        with pytest.raises(
            CacheLockedError, match=rf"process {process.pid} on .* since .* for \d+ s\b"
        ) as caught:
            write(tmp_path / "x", 1)
        assert caught.value.errno == errno.EWOULDBLOCK
        write(tmp_path / "y", 1)
    finally:
        process.kill()
        process.communicate()


def test_the_lock_and_the_leftovers_of_a_killed_writer_are_taken_over(tmp_path):
    process = start(tmp_path / "x")
    process.kill()
    process.communicate()
    assert names(tmp_path) == [".x.building"]
    write(tmp_path / "x", 1, 2)
    assert names(tmp_path) == ["x"]
    assert len(reference.read(tmp_path / "x")) == 2


def test_ctrl_c_leaves_nothing(tmp_path):
    process = start(tmp_path / "x")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors.splitlines()
    assert names(tmp_path) == []


LIMITED = """
import resource, sys
from dsrt_format import Bytes
from dsrt_native import CacheWriter
what, path = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
big = "b" * (2 << 20)
attributes = {"a": big} if what == "attributes" else {}
with CacheWriter(path, {"x": Bytes()}, {"s": "string"}, attributes=attributes) as writer:
    record = b"r" * (300 << 10) if what == "record" else b"r"
    for _ in range(9):
        writer.append({"x": record, "s": big if what == "metadata" else None})
"""


@pytest.mark.parametrize(
    ("what", "file"),
    [("record", "00000.shard"), ("metadata", "metadata.spill"), ("attributes", "journal")],
)
def test_a_full_disk_is_an_os_error_that_names_the_file_and_nothing_is_published(tmp_path, what, file):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, what, str(tmp_path / "x")],
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.rstrip().splitlines()[-1]
    assert last.startswith(f"OSError: [Errno {errno.EFBIG}] writing "), done.stderr
    assert file in last
    assert names(tmp_path) == []


FORKED = """
import os, sys
from dsrt_format import Bytes
from dsrt_native import CacheWriter
with CacheWriter(sys.argv[1], {"x": Bytes()}) as writer:
    writer.append({"x": b"parent"})
    if (child := os.fork()) == 0:
        try:
            writer.append({"x": b"child"})
        except RuntimeError as error:
            print(error)
        del writer
        sys.exit("the with block of the child ends here")
    os.waitpid(child, 0)
    writer.append({"x": b"parent again"})
"""


def test_a_forked_child_cannot_harm_the_writer_of_its_parent(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path / "x")], capture_output=True, text=True, check=True
    )
    assert "this is a fork of it" in done.stdout
    assert [s["x"] for s in reference.read(tmp_path / "x")] == [b"parent", b"parent again"]
    assert names(tmp_path) == ["x"]


ORPHANED = """
import os, signal, sys
from dsrt_format import Bytes
from dsrt_native import CacheWriter
writer = CacheWriter(sys.argv[1], {"x": Bytes()})
writer.append({"x": b"parent"})
ready, output = os.pipe()
if (child := os.fork()) == 0:
    print(os.getpid(), flush=True)
    os.closerange(0, 3)
    os.write(output, b".")
    signal.pause()
os.read(ready, 1)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_lock_of_a_killed_writer_is_free_though_a_fork_of_it_lives(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ORPHANED, str(tmp_path / "x")], capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    try:
        write(tmp_path / "x", 1, 2)
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)
    assert names(tmp_path) == ["x"]


BOUNDED = """
import resource, sys
from dsrt_format import Bytes
from dsrt_native import CacheWriter
record = bytes(1 << 20)
with CacheWriter(sys.argv[1], {"x": Bytes()}, {"s": "string"}) as writer:
    writer.append({"x": record, "s": "s"})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(150):
        writer.append({"x": record, "s": "s"})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_payload(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(tmp_path / "x")], capture_output=True, text=True, check=True
    )
    grown_kib = int(done.stdout)
    assert grown_kib < 20 << 10
    assert Manifest.load(tmp_path / "x").num_samples == 151


def test_a_record_larger_than_a_shard_is_the_last_of_its_shard(tmp_path):
    large = np.random.default_rng(0).bytes(3 << 20)
    with CacheWriter(tmp_path / "x", {"x": Bytes()}, shard_bytes=1 << 20) as writer:
        for record in (b"a", large, b"b"):
            writer.append({"x": record})
    assert Manifest.load(tmp_path / "x").shards == (2, 1)
    assert [s["x"] for s in reference.read(tmp_path / "x")] == [b"a", large, b"b"]


def test_the_count_is_right_wherever_an_interrupt_comes(tmp_path):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    interrupts = 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with CacheWriter(tmp_path / "x", {"x": Dense("int64")}) as writer:
            while interrupts < 300:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.001)
                    while True:
                        writer.append({"x": writer.count})
                except KeyboardInterrupt:
                    interrupts += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    found = Cache.open(tmp_path / "x").fields["x"][:]
    np.testing.assert_array_equal(found, np.arange(len(found)))
    assert len(found) == writer.count
