"""Caches made to hurt whoever validates them: nothing is opened that blocks, nothing grows without bound."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from blake3 import blake3

from dsrt_format import Bytes, Dense, UnreadError, reference, validate

ENTRY = [("end", "<u8"), ("crc", "<u4"), ("size", "<u8")]


@pytest.fixture
def plain(tmp_path):
    reference.write(tmp_path / "c", {"x": Bytes()}, [{"x": b"abc"}] * 3)
    return tmp_path / "c"


def unknown(path):
    problems = validate(path, level="structure")
    assert {(p.rule, p.kind, p.field, p.shard, p.sample) for p in problems} <= {
        ("R053", "unknown", None, None, None)
    }
    return [
        problem.message.partition(" that does not belong to the cache; readers ignore")[0]
        for problem in problems
    ]


def test_everything_that_does_not_belong_is_listed_by_path_and_said_what_it_is(plain):
    (plain / "a").symlink_to("nowhere")
    os.mkfifo(plain / "b")
    (plain / "metadata.arrow").touch()
    (plain / "fields" / "y").mkdir()
    (plain / "fields" / "y" / "inside").touch()
    (plain / "fields" / "x" / "00001.shard").mkdir()
    (plain / "fields" / "x" / "z\n\x1b[2J").touch()
    (plain / "fields" / ".building").touch()
    os.close(os.open(os.fsencode(plain) + b"/fields/\xff", os.O_CREAT))
    assert unknown(plain) == [
        "a is a link",
        "b is a special file",
        "fields/.building is a file",
        "fields/x/00001.shard is a directory",
        "fields/x/z\\n\\x1b[2J is a file",
        "fields/y is a directory",
        "fields/\\xff is a file",
        "metadata.arrow is a file",
    ]


def test_links_are_not_followed_in_search_of_unknown_files(plain, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "other").touch()
    (plain / "fields" / "x").rename(tmp_path / "real" / "x")
    (tmp_path / "real" / "x" / "other").touch()
    (plain / "fields" / "x").symlink_to(tmp_path / "real" / "x")
    assert unknown(plain) == []
    (plain / "fields" / "x").unlink()
    (plain / "fields").rmdir()
    (plain / "fields").symlink_to(tmp_path / "real")
    assert unknown(plain) == []


def test_what_a_name_of_the_manifest_holds_is_not_unknown(tmp_path):
    path = tmp_path / "c"
    reference.write(path, {"x": Dense("int8")}, [])
    for folder in path / "fields" / "x", path / "fields":
        if folder.exists():
            folder.rmdir()
    assert unknown(path) == []
    os.mkfifo(path / "fields")
    assert unknown(path) == []
    (path / "fields").unlink()
    (path / "fields" / "x").mkdir(parents=True)
    assert unknown(path) == []


def test_after_a_manifest_that_cannot_be_read_nothing_is_listed(plain):
    (plain / "notes").touch()
    (plain / "manifest.json").write_bytes(b"{}")
    assert [problem.rule for problem in validate(plain)] == ["R002"]


@pytest.mark.parametrize("end", ["", "\\"])
def test_a_string_without_end_takes_no_longer_than_its_length(plain, end):
    content = '{"a":"' + "[" * 65 + '\\"' * 1_000_000 + end
    digest = blake3(content.encode()).hexdigest()
    (plain / "manifest.json").write_text(f'{{"digest":"{digest}",' + content[1:])
    code = "import sys, dsrt_format\nfor p in dsrt_format.validate(sys.argv[1]): print(p.rule)\n"
    # In a process of its own, because what takes hours in there hears no signal.
    run = subprocess.run([sys.executable, "-c", code, plain], check=True, stdout=subprocess.PIPE, timeout=60)
    assert run.stdout.split() == [b"R004"]


def test_a_directory_that_may_not_be_listed_is_an_error_of_the_system(plain, monkeypatch):
    def refuse(place):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(UnreadError) as caught:
        validate(plain)
    assert [(type(e), e.filename) for e in caught.value.unread] == [(PermissionError, ".")]
    assert caught.value.problems == []


def test_an_error_of_the_device_names_the_file(plain, monkeypatch):
    def fail(descriptor, count):
        raise OSError(5, "Input/output error")

    kept = os.read
    monkeypatch.setattr(os, "read", lambda fd, n: kept(fd, n) if n > 100 else fail(fd, n))
    with pytest.raises(UnreadError, match=r"Input/output error: 'fields/x/00000\.shard'") as caught:
        validate(plain)
    assert caught.value.errno == 5


def test_an_error_of_who_is_told_the_progress_is_none_of_a_file(plain):
    def tell(done, total):
        raise BrokenPipeError(32, "Broken pipe", "the terminal")

    with pytest.raises(BrokenPipeError):
        validate(plain, progress=tell)
    # In the middle of a file.
    reference.write(plain.parent / "long", {"x": Bytes()}, [{"x": bytes(1 << 20)}] * 4)
    with pytest.raises(BrokenPipeError):
        validate(plain.parent / "long", progress=tell)


def test_an_index_that_goes_up_and_down_is_read_so_often_and_not_more(tmp_path, change_manifest):
    path = tmp_path / "c"
    reference.write(path, {"x": Bytes()}, [{"x": b"12345678"}] * 200)
    file = path / "fields" / "x" / "00000.shard"
    data = bytearray(file.read_bytes())
    index = np.frombuffer(data, ENTRY, offset=64 + 1600)
    index["end"][0::2] = 64 + 1600
    index["end"][1::2] = 64
    file.write_bytes(data)
    digest = blake3(index.tobytes()).hexdigest()
    change_manifest(path, lambda m: m["fields"][0]["files"][0].update(index_blake3=digest))
    for level in "structure", "records":
        problems = validate(path, level=level)
        assert problems[0].rule == "R051"
        outside = [p.sample for p in problems if p.rule == "R032"]
        assert outside == [i for i in range(200) if i % 2 or i >= 32]
        assert [p.sample for p in problems if p.rule == "R033"] == (
            [] if level == "structure" else list(range(0, 32, 2))
        )


def test_a_hole_larger_than_the_memory_of_a_reader_is_read_in_pieces(tmp_path, change_manifest):
    path, length = tmp_path / "c", 2**30
    reference.write(path, {"x": Bytes(), "z": Bytes(codec="zstd")}, [{"x": b"abc", "z": b""}])
    files = []
    for name in "x", "z":
        file = path / "fields" / name / "00000.shard"
        index = np.frombuffer(
            file.read_bytes()[-20:], [("end", "<u8"), ("crc", "<u4"), ("size", "<u8")]
        ).copy()
        index["end"] = 64 + length
        with open(file, "r+b") as handle:
            handle.truncate(64 + length)
            handle.seek(0, os.SEEK_END)
            handle.write(index.tobytes())
        files.append({"bytes": 64 + length + 20, "index_blake3": blake3(index.tobytes()).hexdigest()})

    def lengthen(manifest):
        for field, new in zip(manifest["fields"], files, strict=True):
            field["files"][0].update(new)

    change_manifest(path, lengthen)
    code = (
        "import json, resource, sys, dsrt_format\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak()\n"
        "problems = dsrt_format.validate(sys.argv[1], level='records')\n"
        "print(json.dumps([[p.rule for p in problems], peak() - before]))\n"
    )
    run = subprocess.run([sys.executable, "-c", code, path], check=True, stdout=subprocess.PIPE)
    rules, grown = json.loads(run.stdout)
    # Both headers tell of the length, so that they differ, too.
    assert rules == ["R031", "R033", "R031", "R033"]
    assert grown < 128 << 10  # KiB


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the system does not limit the memory of a process"
)
def test_a_record_larger_than_the_memory_is_an_error_before_a_byte_of_it_is_read(tmp_path, change_manifest):
    path, length = tmp_path / "c", 2**32
    reference.write(path, {"x": Bytes()}, [{"x": b"abc"}])
    file = path / "fields" / "x" / "00000.shard"
    index = np.frombuffer(file.read_bytes()[-20:], ENTRY).copy()
    index["end"] = 64 + length
    with open(file, "r+b") as handle:
        handle.seek(24)
        handle.write((length + 20).to_bytes(8, "little"))
        handle.truncate(64 + length)
        handle.seek(0, os.SEEK_END)
        handle.write(index.tobytes())
    entry = {"bytes": 64 + length + 20, "index_blake3": blake3(index.tobytes()).hexdigest()}
    change_manifest(path, lambda manifest: manifest["fields"][0]["files"][0].update(entry))
    code = (
        "import resource, sys\n"
        "from dsrt_format import reference\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "before = peak()\n"
        "try: reference.read(sys.argv[1])\n"
        "except MemoryError: print(peak() - before)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, path], check=True, stdout=subprocess.PIPE)
    assert int(run.stdout) < 128 << 10  # KiB
