"""Whatever lies where a file of a cache should be: it is refused by rule, at once, and left closed."""

import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from dsrt_format import DataError, FormatError, Manifest, NotPublishedError, reference, validate
from dsrt_format import directory as directory_module
from dsrt_format.directory import CacheDirectory, in_directory
from dsrt_format.rules import Violation


def bind(path):
    # The name of a socket has at most about 100 bytes, so it is bound from its directory.
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


INTRUDERS = {
    "nothing": lambda path: None,
    "an empty file": lambda path: path.touch(),
    "a directory": lambda path: path.mkdir(),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a device": lambda path: path.symlink_to(os.devnull),
}
if hasattr(os, "mkfifo"):
    INTRUDERS["a pipe"] = os.mkfifo
if hasattr(socket, "AF_UNIX"):
    INTRUDERS["a socket"] = bind


@pytest.fixture
def cache(vectors, tmp_path):
    return shutil.copytree(vectors / "example" / "demo", tmp_path / "demo")


def open_files():
    """Return what of the file system this process has open; nothing where that cannot be told."""
    found = Path("/proc/self/fd")
    links = [found / name for name in os.listdir(found)] if found.is_dir() else []
    return sorted(os.readlink(link) for link in links if os.path.lexists(link))


@pytest.mark.parametrize("intruder", INTRUDERS)
def test_an_intruder_in_place_of_a_file_is_refused_and_nothing_stays_open(cache, intruder):
    open_before = open_files()
    for file in sorted(path for path in cache.rglob("*") if path.is_file()):
        kept = file.rename(cache.parent / "kept")
        INTRUDERS[intruder](file)
        expected = "R030" if file.name != "manifest.json" else "R000"
        if intruder == "an empty file" and expected == "R000":
            expected = "R002"
        with pytest.raises(FormatError) as caught:
            reference.read(cache)
        assert caught.value.rule == expected
        assert isinstance(caught.value, NotPublishedError) == (expected == "R000")
        problems = validate(cache)
        assert [problem.rule for problem in problems] == [expected]
        assert str(problems[0]) == str(caught.value)
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        else:
            file.unlink(missing_ok=True)
        kept.rename(file)
    assert validate(cache) == []
    assert open_files() == open_before


def test_a_file_that_vanishes_after_it_was_looked_at_is_missing(cache, monkeypatch):
    (cache / "fields" / "jpeg" / "00001.shard").unlink()
    monkeypatch.setattr(CacheDirectory, "check", lambda self, name, length: None)
    with pytest.raises(DataError, match=r"R030: fields/jpeg/00001\.shard is missing") as caught:
        reference.read_sample(cache, 4)
    assert (caught.value.field, caught.value.shard, caught.value.sample) == ("jpeg", 1, 4)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none", "nothing is there"),
        ("demo/manifest.json", "no directory"),
        ("demo/fields", "holds no manifest"),
    ],
)
def test_what_is_no_cache_is_said_with_what_to_do(cache, name, words):
    with pytest.raises(NotPublishedError, match=f"{words}.*; check the path, or build the cache first"):
        Manifest.load(cache.parent / name)


def test_more_than_one_call_reads_is_read_as_a_whole(cache, monkeypatch):
    expected = (cache / "manifest.json").read_bytes()
    monkeypatch.setattr(directory_module, "_ONE_CALL_BYTES", 8)
    with CacheDirectory(cache) as directory, directory.open("manifest.json", len(expected)) as file:
        assert file.read(0, 8) == expected[:8]
        assert file.read(5, 100) == expected[5:105]
        assert file.read(0, len(expected)) == expected
        with pytest.raises(Violation, match="has become shorter") as caught:
            file.read(1, len(expected))
    assert caught.value.rule == "R030"


def test_a_call_that_reads_less_than_it_should_is_no_end_of_the_file(cache, monkeypatch):
    expected, read = str(reference.read(cache)), os.read
    monkeypatch.setattr(os, "read", lambda descriptor, count: read(descriptor, min(count, 3)))
    assert str(reference.read(cache)) == expected


def test_threads_read_one_cache_side_by_side(cache):
    expected, found = str(reference.read(cache)), []
    threads = [threading.Thread(target=lambda: found.append(str(reference.read(cache)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def replace(path: Path, content: str):
    """Put a directory whose manifest has that content at a path, and remove the one that was there."""
    new, old = path.with_name("new"), path.with_name("old")
    new.mkdir()
    (new / "manifest.json").write_text(content)
    if path.exists():
        path.rename(old)
    new.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def test_a_directory_that_is_replaced_while_it_is_read_is_left_for_the_new_one(tmp_path):
    path, looks = tmp_path / "x", []
    replace(path, "0")

    def read(directory):
        looks.append(len(looks) + 1)
        if len(looks) < 4:
            replace(path, str(len(looks)))
        return directory.manifest_bytes()

    open_before = open_files()
    assert in_directory(path, read) == b"3"
    assert looks == [1, 2, 3, 4]
    assert open_files() == open_before


def test_what_is_missing_in_the_directory_that_is_there_is_said_at_once(tmp_path):
    path, looks = tmp_path / "x", []
    replace(path, "0")

    def read(directory):
        looks.append(directory)
        directory.check("y", 1)

    with pytest.raises(Violation, match="y is missing"):
        in_directory(path, read)
    assert len(looks) == 1


def test_a_path_that_never_rests_is_given_up_and_one_that_is_removed_at_once(tmp_path):
    path, looks = tmp_path / "x", []
    replace(path, "0")

    def never(directory):
        looks.append(directory)
        replace(path, "again")
        directory.check("y", 1)

    with pytest.raises(Violation, match="y is missing"):
        in_directory(path, never)
    assert len(looks) == 100

    def removed(directory):
        looks.append(directory)
        shutil.rmtree(path)
        return directory.manifest_bytes()

    with pytest.raises(Violation, match="no manifest"):
        in_directory(path, removed)
    assert len(looks) == 101


def test_the_reference_reads_the_cache_that_replaced_the_one_it_had_opened(vectors, cache, monkeypatch):
    other = vectors / "example" / "empty"
    check = CacheDirectory.check

    def replaced(self, name, length):
        monkeypatch.setattr(CacheDirectory, "check", check)
        shutil.rmtree(cache)
        shutil.copytree(other, cache)
        check(self, name, length)

    monkeypatch.setattr(CacheDirectory, "check", replaced)
    assert reference.read(cache) == reference.read(other) == []
