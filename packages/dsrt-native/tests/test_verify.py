"""`verify`: its arguments, its progress, its end. What it finds, tests/rules compares."""

import os
import resource
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrt_format import Bytes, Dense, UnreadError, validate
from dsrt_format.validate import Problem
from dsrt_native import verify

LEVELS = ["structure", "records", "digests"]


def damage(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)


@pytest.mark.parametrize("level", LEVELS)
def test_a_sound_cache_has_no_problem(path, level):
    assert verify(path, level=level) == []


def test_a_problem_is_the_validators_own(write_cache):
    path = write_cache()
    damage(path / "fields/vector/00001.shard", 100)
    found = verify(str(path))
    assert [type(problem) for problem in found] == [Problem, Problem]
    assert [(p.rule, p.field, p.shard, p.sample, p.kind) for p in found] == [
        ("R050", "vector", 1, None, "file"),
        ("R033", "vector", 1, 8, "record"),
    ]
    assert found[0].cache == str(path)
    assert str(found[1]).startswith("R033: the checksum of the record is")


def test_levels_find_more_and_more(write_cache):
    path = write_cache()
    damage(path / "fields/vector/00001.shard", 100)
    damage(path / "fields/jpeg/00002.shard", -1)
    damage(path / "metadata.arrow", 9)
    (path / "stray").touch()
    rules = {level: [problem.rule for problem in verify(path, level=level)] for level in LEVELS}
    assert rules == {
        "structure": ["R039", "R041", "R053"],
        "records": ["R033", "R039", "R033", "R041", "R053"],
        "digests": ["R050", "R033", "R039", "R050", "R033", "R041", "R053"],
    }
    assert rules["digests"] == [problem.rule for problem in verify(path)]


def test_the_list_does_not_depend_on_the_threads(write_cache):
    path = write_cache(samples_per_shard=1)
    for number, file in enumerate(sorted(path.rglob("*.shard"))):
        if number % 3 == 0:
            damage(file, -1 - number % 4)
    lists = [verify(path, threads=threads) for threads in (1, 2, 7)]
    assert lists[0] == lists[1] == lists[2]
    assert len(lists[0]) > 50


def test_of_a_rule_a_thousand_are_listed_and_the_rest_is_counted(write_cache):
    samples = ({"x": np.uint8(i % 256)} for i in range(1500))
    path = write_cache(fields={"x": Dense("uint8")}, samples=samples, metadata={}, samples_per_shard=400)
    for file in path.rglob("*.shard"):
        content = bytearray(file.read_bytes())
        content[64:464] = bytes(byte ^ 1 for byte in content[64:464])
        file.chmod(0o644)
        file.write_bytes(content)
    found = verify(path, level="records", threads=3)
    # The last shard has 300 records; what follows them is their index.
    assert [problem.sample for problem in found if problem.rule == "R033"] == [*range(1000), None]
    assert found[-1].message == "500 more are not listed"
    assert found[-1].unlisted == 500
    assert [(p.rule, p.sample) for p in found] == [
        (p.rule, p.sample) for p in validate(path, level="records")
    ]


def test_parts_together_are_the_whole(write_cache):
    path = write_cache(samples_per_shard=2)
    for file in [*path.rglob("*.shard"), *path.rglob("dictionary.bin")]:
        damage(file, -1)
    (path / "stray").touch()
    whole = verify(path)
    parts = [verify(path, part=(k, 5)) for k in range(5)]
    assert sorted(map(str, whole)) == sorted(str(problem) for part in parts for problem in part)
    assert all(part for part in parts)
    assert [problem.rule for problem in parts[1]].count("R053") == 0
    assert verify(path, part=(0, 1)) == whole


def test_progress_counts_the_bytes_of_the_part(path):
    def told(**arguments: Any) -> list[tuple[int, int]]:
        calls: list[tuple[int, int]] = []
        assert verify(path, progress=lambda done, total: calls.append((done, total)), **arguments) == []
        return calls

    files = [file for file in path.rglob("*") if file.is_file() and file.name != "manifest.json"]
    size = sum(file.stat().st_size for file in files)
    calls = told()
    assert calls[0][0] == 0
    assert calls[-1] == (size, size)
    assert calls == sorted(calls)
    assert sum(told(part=(k, 3))[-1][1] for k in range(3)) == size
    assert told(level="structure")[-1][1] < size


def test_progress_is_told_to_the_calling_thread(path):
    threads = set()
    verify(path, progress=lambda done, total: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


def workers() -> int:
    """Threads of the engine that are running."""
    names = []
    for task in Path("/proc/self/task").glob("*/comm"):
        try:
            names.append(task.read_text())
        except OSError:
            continue  # it has just ended
    return sum(name.startswith("dsrt-verify") for name in names)


def test_what_progress_raises_ends_the_run(path):
    def tell(done: int, total: int) -> None:
        if done:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        verify(path, rate=1e5, progress=tell)
    assert workers() == 0


def test_ctrl_c_ends_the_run_and_its_threads(path):
    def strike(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, strike)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        # At a byte a second it would take hours.
        with pytest.raises(KeyboardInterrupt):
            verify(path, rate=1, threads=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert workers() == 0


def test_a_rate_is_not_exceeded(path):
    size = sum(file.stat().st_size for file in path.rglob("*.shard"))
    largest = max(file.stat().st_size for file in path.rglob("*") if file.is_file())
    begin = time.monotonic()
    assert verify(path, rate=4 * size, threads=3) == []
    # What comes last is free to begin, and no piece of these files is larger.
    assert time.monotonic() - begin >= (size - largest) / (4 * size)


def test_files_that_cannot_be_opened_are_no_problem_of_the_cache(path):
    lowest = os.dup(0)
    os.close(lowest)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        # The directory has the last number that there is, wherever numbers below it are free.
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, before[1]))
        with pytest.raises(OSError, match="Too many open files") as caught:
            verify(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert str(path) in str(caught.value)
    assert caught.value.filename is not None
    assert (path / caught.value.filename).exists()


def test_every_file_that_cannot_be_opened_is_named_and_none_is_done(path):
    told: list[tuple[int, int]] = []
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def close_the_gate(done: int, total: int) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
        told.append((done, total))

    try:
        with pytest.raises(UnreadError, match="Too many open files") as caught:
            verify(path, progress=close_the_gate)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    unread = [error.filename for error in caught.value.unread]
    files = {str(f.relative_to(path)) for f in path.rglob("*") if f.is_file() and f.name != "manifest.json"}
    assert set(unread) == files | {"."}
    assert caught.value.filename == unread[0]
    assert unread[-2:] == ["metadata.arrow", "."]
    assert caught.value.problems == []
    assert told[-1] == (0, sum((path / name).stat().st_size for name in files))


def test_what_is_no_cache_is_one_problem(tmp_path):
    assert [(p.rule, p.cache, p.kind) for p in verify(tmp_path / "none")] == [
        ("R000", os.fspath(tmp_path / "none"), "manifest")
    ]


def test_a_cache_without_samples_is_sound(write_cache):
    path = write_cache(fields={"x": Bytes()}, samples=[], metadata={})
    calls: list[tuple[int, int]] = []
    assert verify(path, progress=lambda *call: calls.append(call)) == []
    assert calls == []


@pytest.mark.parametrize(
    ("argument", "value", "error"),
    [
        ("level", "all", ValueError),
        ("level", None, ValueError),
        ("part", (1, 1), ValueError),
        ("part", (-1, 2), ValueError),
        ("part", (0, 0), ValueError),
        ("part", 0, TypeError),
        ("part", (0, 1.5), TypeError),
        ("rate", 0, ValueError),
        ("rate", float("inf"), ValueError),
        ("rate", float("nan"), ValueError),
        ("rate", "300MB/s", TypeError),
        ("rate", True, TypeError),
        ("threads", 0, ValueError),
        ("threads", 1.0, TypeError),
        ("progress", 1, TypeError),
    ],
)
def test_arguments_that_cannot_be_are_refused(path, argument, value, error):
    with pytest.raises(error, match=argument):
        verify(path, **{argument: value})
