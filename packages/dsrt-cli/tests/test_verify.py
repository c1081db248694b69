import json
import os
import signal
import subprocess
import sys

import pytest

from dsrt_cli import verify as command
from dsrt_format import Bytes, InternalError, Problem, validate
from dsrt_format.reference import write


def damage(cache, field="tokens", at=64):
    """Flip a bit; byte 64 of field tokens belongs to sample 1."""
    file = cache / "fields" / field / "00000.shard"
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)


def objects(result, kind):
    return [found for line in result.stdout.splitlines() if (found := json.loads(line))["type"] == kind]


@pytest.fixture
def plain(monkeypatch):
    """As if dsrt-native were not installed."""
    monkeypatch.setitem(sys.modules, "dsrt_native", None)


def test_a_sound_cache_is_called_sound_with_exit_code_0(dsrt, cache):
    result = dsrt("verify", cache)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == f"{cache}: sound"
    assert result.stdout.splitlines()[1].split("; ")[::2] == ["  5 samples", "level digests"]


def test_what_was_read_is_shown_by_field_with_what_was_found_in_it(dsrt, cache):
    damage(cache)
    damage(cache, "file", 64 + 1)
    (cache / "metadata.arrow").unlink()
    rows = [line.split() for line in dsrt("verify", cache).stdout.splitlines()]
    size = os.path.getsize(cache / "fields" / "image" / "00000.shard")
    assert ["image", "dense", "uint8", "zstd", "1", str(size), "B", "-"] in rows
    assert [row[-1] for row in rows if row[:2] in (["tokens", "ragged"], ["file", "bytes"])] == ["2", "2"]
    assert next(row for row in rows if row[:1] == ["metadata"])[-1] == "1"


def test_damage_is_listed_with_its_place_with_exit_code_1(dsrt, cache):
    damage(cache)
    result = dsrt("verify", cache)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == f"{cache}: damaged: 2 problems"
    rows = [line.split()[:5] for line in result.stdout.splitlines()]
    assert ["R050", "file", "tokens", "0", "-"] in rows
    assert ["R033", "record", "tokens", "0", "1"] in rows


@pytest.mark.parametrize(
    ("level", "rules"),
    [("structure", ["R031"]), ("records", ["R031", "R033"]), ("digests", ["R031", "R050", "R033"])],
)
def test_a_level_says_how_much_is_looked_at(dsrt, cache, level, rules):
    damage(cache, at=20)
    damage(cache)
    result = dsrt("verify", cache, "--level", level, "--json")
    assert [found["rule"] for found in objects(result, "problem")] == rules
    (summary,) = objects(result, "summary")
    assert summary["level"] == level
    # Only a part of the files is read for the structure.
    assert (summary["bytes_read"] == summary["bytes"]) == (level != "structure")


def test_json_is_a_line_per_problem_and_one_for_the_path(dsrt, cache):
    damage(cache)
    damage(cache, field="file", at=64 + 1)  # sample 2: sample 1 has one byte
    (cache / "notes").touch()
    result = dsrt("verify", cache, "--json")
    assert result.exit_code == 1
    problems, (summary,) = objects(result, "problem"), objects(result, "summary")
    assert json.loads(result.stdout.splitlines()[-1]) == summary
    keys = "rule", "kind", "field", "shard", "sample", "warning"
    assert [tuple(found[key] for key in keys) for found in problems] == [
        ("R050", "file", "tokens", 0, None, False),
        ("R033", "record", "tokens", 0, 1, False),
        ("R050", "file", "file", 0, None, False),
        ("R033", "record", "file", 0, 2, False),
        ("R053", "unknown", None, None, None, True),
    ]
    assert all(found["message"] and found["path"] == str(cache) for found in problems)
    seconds = summary.pop("seconds")
    assert seconds >= 0
    size = sum(
        file.stat().st_size for file in cache.rglob("*") if file.is_file() and file.name != "manifest.json"
    )
    assert summary == {
        "type": "summary",
        "path": str(cache),
        "status": "damaged",
        "level": "digests",
        "part": [0, 1],
        "problems": 4,
        "warnings": 1,
        "unread": 0,
        "samples": 5,
        "bytes": size,
        "bytes_read": size,
        "message": None,
    }


def test_a_cache_with_warnings_only_is_sound_and_they_stand_apart(dsrt, cache):
    for i in range(30):
        (cache / f"notes-{i:02d}").touch()
    result = dsrt("verify", cache)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"{cache}: sound, 30 warnings"
    assert "warnings, which do not make the cache unsound:" in lines
    assert sum("notes-" in line for line in lines) == 20
    assert lines[-1] == "  and 10 more"
    (summary,) = objects(dsrt("verify", cache, "--json"), "summary")
    assert (summary["status"], summary["problems"], summary["warnings"]) == ("sound", 0, 30)


def test_of_thousands_of_problems_those_of_one_file_are_one_row(dsrt, tmp_path):
    path = tmp_path / "many"
    write(path, {"x": Bytes()}, [{"x": bytes([i % 256])} for i in range(3000)], samples_per_shard=1200)
    for shard, count in enumerate((1200, 1200, 600)):
        with open(path / "fields" / "x" / f"{shard:05d}.shard", "r+b") as file:
            file.seek(64)
            # Every tenth record is left as it is.
            first = 1200 * shard
            file.write(bytes((i + (i % 10 > 0)) % 256 for i in range(first, first + count)))
    result = dsrt("verify", path)
    lines = result.stdout.splitlines()
    assert lines[0] == f"{path}: damaged: 2,703 problems"
    rows = [line.split(maxsplit=5) for line in lines if line.startswith("R0")]
    assert [row[:4] for row in rows] == [
        ["R050", "file", "x", "0"],
        ["R033", "record", "x", "0"],
        ["R050", "file", "x", "1"],
        ["R050", "file", "x", "2"],
    ]
    assert next(line.split()[-1] for line in lines if line.startswith("x  ")) == "1,003+"
    assert "1-9, 11-19, 21-29, 31-39, 41-49, …  1,000 of them; the first: the checksum" in result.stdout
    assert lines[-1] == "and 1,700 more of R033, which are not listed"
    found = dsrt("verify", path, "--json")
    assert len(objects(found, "problem")) == 1004
    assert [more for p in objects(found, "problem") if (more := p["unlisted"])] == [1700]
    assert objects(found, "summary")[0]["problems"] == 2703


def test_what_is_no_cache_could_not_be_looked_at_with_exit_code_2(dsrt, tmp_path):
    result = dsrt("verify", tmp_path, "--json")
    assert result.exit_code == 2
    assert objects(result, "problem") == []
    (summary,) = objects(result, "summary")
    assert (summary["status"], summary["problems"], summary["samples"]) == ("unseen", 0, None)
    assert "R000" in summary["message"]
    assert "could not be looked at" in dsrt("verify", tmp_path).stdout


def test_a_format_from_the_future_could_not_be_looked_at(dsrt, cache):
    from dsrt_format.checksum import blake3_digest

    content = b'{"format":2}'
    digest = blake3_digest(content).hex().encode()
    manifest = cache / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_bytes(b'{"digest":"' + digest + b'",' + content[1:])
    assert dsrt("verify", cache).exit_code == 2


def test_what_the_system_refuses_could_not_be_looked_at(dsrt, cache, monkeypatch, plain):
    def refuse(path, **options):
        raise PermissionError(13, "Permission denied", "fields/image/00000.shard")

    monkeypatch.setattr(command, "validate", refuse)
    result = dsrt("verify", cache)
    assert result.exit_code == 2
    assert "Permission denied: 'fields/image/00000.shard'" in result.stdout


def test_a_field_that_comes_after_the_last_problem_listed_may_have_some(dsrt, tmp_path):
    path = tmp_path / "many"
    fields = {name: Bytes() for name in "abc"}
    write(path, fields, [dict.fromkeys(fields, bytes([i % 256])) for i in range(1200)], metadata={})
    for name in "bc":
        with open(path / "fields" / name / "00000.shard", "r+b") as file:
            file.seek(64)
            file.write(bytes((i + 1) % 256 for i in range(1200)))
    rows = [line.split() for line in dsrt("verify", path, "--level", "records").stdout.splitlines()]
    assert [row[-1] for row in rows if row[1:2] == ["bytes"]] == ["-", "1,000+", "0+"]


def test_of_what_could_not_be_read_the_bytes_and_seconds_are_true(dsrt, cache, monkeypatch, plain):
    def refuse(path, *, progress, **options):
        progress(7, 100)
        raise PermissionError(13, "Permission denied", "fields/image/00000.shard")

    monkeypatch.setattr(command, "validate", refuse)
    (summary,) = objects(dsrt("verify", cache, "--json"), "summary")
    assert (summary["status"], summary["bytes_read"], summary["samples"]) == ("unseen", 7, 5)


def test_a_defect_of_the_engine_ends_one_path_and_not_the_others(dsrt, cache, tmp_path, monkeypatch, plain):
    other = tmp_path / "other"
    write(other, {"x": Bytes()}, [{"x": b"abc"}])
    damage(cache)

    def fail(path, **options):
        if path == other:
            raise InternalError("the engine panicked")
        return validate(path, **options)

    monkeypatch.setattr(command, "validate", fail)
    result = dsrt("verify", cache, other, cache, "--json")
    assert result.exit_code == 1
    found = objects(result, "summary")
    assert [(f["path"], f["status"]) for f in found] == [
        (str(cache), "damaged"),
        (str(other), "unseen"),
        (str(cache), "damaged"),
    ]
    assert found[1]["message"] == "the engine panicked"


def test_a_damaged_manifest_is_damage(dsrt, cache):
    manifest = cache / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_bytes(manifest.read_bytes().replace(b'"samples":5', b'"samples":6'))
    result = dsrt("verify", cache, "--json")
    assert result.exit_code == 1
    assert [problem["rule"] for problem in objects(result, "problem")] == ["R003"]
    assert "R003" in dsrt("verify", cache).stdout


@pytest.mark.parametrize(
    ("broken", "missing", "code"),
    [(False, False, 0), (True, False, 1), (False, True, 2), (True, True, 1)],
)
def test_of_several_paths_each_is_looked_at_and_damage_decides_the_exit_code(
    dsrt, cache, tmp_path, broken, missing, code
):
    if broken:
        damage(cache)
    other = tmp_path / "nothing" if missing else cache
    result = dsrt("verify", other, cache, "--json")
    assert result.exit_code == code
    assert [found["path"] for found in objects(result, "summary")] == [str(other), str(cache)]


def test_without_dsrt_native_the_plain_validator_finds_the_same(dsrt, cache, plain):
    damage(cache)
    result = dsrt("verify", cache, "--json")
    assert [found["rule"] for found in objects(result, "problem")] == ["R050", "R033"]


@pytest.mark.parametrize("words", [("--part", "0/2"), ("--rate", "1GiB/s"), ("--threads", "2")])
def test_what_only_dsrt_native_can_do_says_what_to_install(dsrt, cache, plain, words):
    result = dsrt("verify", cache, *words)
    assert result.exit_code == 2
    assert 'pip install "dsrt-cli[native]"' in result.stderr


@pytest.mark.parametrize(
    "words", [("--part", "2/2"), ("--rate", "fast"), ("--threads", "0"), ("--level", "all")]
)
def test_options_that_make_no_sense_are_refused_before_anything_is_read(dsrt, tmp_path, words):
    result = dsrt("verify", tmp_path / "nothing", *words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words[0] in result.stderr


def test_what_dsrt_native_is_asked_for(dsrt, cache, monkeypatch):
    asked = []

    class Native:
        @staticmethod
        def verify(path, **options):
            options.pop("progress")(3, 4)
            asked.append((path, options))
            return [Problem("R030", str(path), "a\x1b[2Jb", 0, None, "gone\x07")]

    monkeypatch.setitem(sys.modules, "dsrt_native", Native)
    whole = {"level": "digests", "part": (0, 1), "rate": None, "threads": None}
    result = dsrt("verify", cache)
    assert (result.exit_code, asked.pop()) == (1, (cache, whole))
    assert "a\\x1b[2Jb" in result.stdout
    assert "gone\\x07" in result.stdout
    options = "--part", "1/3", "--rate", "2kB/s", "--threads", "7", "--level", "records"
    result = dsrt("verify", cache, *options, "--json")
    assert asked.pop()[1] == {"level": "records", "part": (1, 3), "rate": 2000.0, "threads": 7}
    (summary,) = objects(result, "summary")
    assert (summary["part"], summary["bytes_read"]) == ([1, 3], 3)
    assert "level records, part 1/3" in dsrt("verify", cache, *options).stdout


def run(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "dsrt_cli", "verify", *words], capture_output=True, **options
    )


def test_paths_of_odd_bytes_are_printed_harmlessly(cache):
    odd = os.fsencode(cache.parent) + b"/\xff\x1b[2J\nsound"
    os.rename(cache, odd)
    result = run(odd)
    assert (result.returncode, result.stderr) == (0, b"")
    first = result.stdout.splitlines()[0].decode()
    assert first == f"{cache.parent}/\\udcff\\x1b[2J\\nsound: sound"
    result = run(odd, "--json")
    summary = json.loads(result.stdout)
    assert os.fsencode(summary["path"]) == odd
    result = run(odd + b"?")
    assert (result.returncode, result.stderr) == (2, b"")
    assert b"\x1b" not in result.stdout


def test_a_reader_of_the_output_that_has_gone_is_no_traceback(cache):
    damage(cache)
    code = f"{sys.executable} -m dsrt_cli verify {cache} --json | true"
    result = subprocess.run(code, shell=True, capture_output=True)
    assert b"Traceback" not in result.stderr


def test_ctrl_c_ends_as_the_signal_does_and_without_a_traceback(tmp_path):
    path = tmp_path / "c"
    write(path, {"x": Bytes()}, [{"x": b"abc"}])
    code = (
        "import sys, time\n"
        "import dsrt_cli.verify\n"
        "from dsrt_cli import main\n"
        "sys.modules['dsrt_native'] = None\n"
        "def slow(path, **options):\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
        "sys.modules['dsrt_cli.verify'].validate = slow\n"
        f"sys.argv = ['dsrt', 'verify', {str(path)!r}]\n"
        "main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background may have interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (-signal.SIGINT, b"")  # of which a shell makes 130, and ends a loop
    assert b"Traceback" not in err
