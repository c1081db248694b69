import os
import subprocess
import sys

import polars as pl
import pytest

import dsrt_cli.extras
import dsrt_cli.verify
from dsrt_format.reference import read

BUILT = """
import numpy as np
from dsrt_format import Dense

class Points:
    name, fields, metadata, fingerprint = "points", {"x": Dense("uint8")}, {}, "one"

    def __iter__(self):
        return iter([{"x": np.uint8(i)} for i in range(2)])
"""


def test_version_names_every_package_of_ours_and_its_version(dsrt):
    result = dsrt("--version")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "dsrt-cli 0.1.0"
    assert lines[1] == "dsrt-format 0.1.0"
    assert [line.split()[0] for line in lines[2:]] == ["dsrt-native", "dsrt-meta", "dsrt-torch"]


def test_without_arguments_the_help_is_shown_with_every_command(dsrt):
    text = dsrt().output
    for command in ("build", "inspect", "verify", "query"):
        assert command in text


def test_an_error_of_ours_is_one_message_on_standard_error_with_exit_code_2(dsrt, tmp_path):
    result = dsrt("inspect", tmp_path / "nothing")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: R000: ")
    assert "Traceback" not in result.stderr


def test_the_command_is_installed_and_runs_as_a_module(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "dsrt_cli", "inspect", tmp_path / "nothing"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: R000: ")


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        (["build", "pets:Pets", "-o", "caches"], "dsrt_native", "native"),
        (["query", "caches/pets", "SELECT 1"], "dsrt_meta", "meta"),
    ],
)
def test_a_command_whose_package_is_missing_names_the_extra(dsrt, monkeypatch, words, module, extra):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(dsrt_cli.extras.importlib, "import_module", absent)
    result = dsrt(*words)
    assert result.exit_code == 2
    assert result.stderr == (
        f'error: this command needs {module}, which is not installed: pip install "dsrt-cli[{extra}]"\n'
    )


def test_inspect_and_verify_need_neither_the_engine_nor_polars(cache):
    code = (
        "import sys\n"
        "sys.modules.update({name: None for name in ('dsrt_native', 'dsrt_meta', 'polars', 'torch')})\n"
        "from dsrt_cli.app import app\n"
        f"cache = {str(cache)!r}\n"
        "for words in (['inspect', cache], ['inspect', cache, '1'], ['verify', cache]):\n"
        "    try:\n"
        "        app(words)\n"
        "    except SystemExit as end:\n"
        "        assert end.code == 0, words\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_command_loads_nothing_heavy_and_starts_no_thread():
    code = (
        "import sys, threading, dsrt_cli\n"
        "heavy = {'pyarrow', 'polars', 'torch', 'dsrt_native', 'dsrt_meta'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_reader_that_goes_away_is_no_traceback_and_no_damage(cache):
    command = [sys.executable, "-m", "dsrt_cli", "query", cache, "SELECT * FROM samples, samples b", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() in (0, 141)  # 0 where all of it fitted into the pipe


GONE = [
    ["inspect", "CACHE"],
    ["inspect", "CACHE", "1"],
    ["inspect", "CACHE", "--json"],
    ["verify", "CACHE"],
    ["verify", "CACHE", "--json"],
    ["query", "CACHE", "SELECT * FROM samples"],
    ["query", "CACHE", "SELECT * FROM samples", "--json"],
    ["--help"],
    ["verify", "--help"],
    ["--version"],
]


def dsrt_with(redirection, *words):
    """Run the command in a process of its own, with a redirection of the shell."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "dsrt_cli"]
    return subprocess.run([*command, *map(str, words)], capture_output=True, text=True)


def reader_gone(words, stream):
    """Run the command with one stream into a pipe that nobody reads; return exit code and the other one."""
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: writing}
    command = [sys.executable, "-m", "dsrt_cli", *map(str, words)]
    process = subprocess.Popen(command, **streams, text=True)
    os.close(writing)
    out, err = process.communicate()
    return process.returncode, out or err or ""


@pytest.mark.parametrize("words", GONE, ids=" ".join)
def test_whoever_writes_to_a_reader_that_has_gone_ends_with_141_and_no_word(cache, words):
    words = [str(cache) if word == "CACHE" else word for word in words]
    assert reader_gone(words, "stdout") == (141, "")


def test_a_build_whose_reader_has_gone_ends_with_141_and_is_done(module, tmp_path):
    module("sources_app", BUILT)
    assert reader_gone(["build", "sources_app:Points", "-o", tmp_path], "stdout") == (141, "")
    assert len(read(tmp_path / "points")) == 2


def test_an_error_or_a_defect_that_nobody_hears_ends_with_2(module, tmp_path):
    module("sources_app", f"{BUILT}\n1 / 0")
    (tmp_path / "nothing").mkdir()
    build = ["build", "sources_app:Points", "-o", tmp_path]
    for words in (["inspect", tmp_path / "nothing"], build, ["inspect"], []):
        assert reader_gone(words, "stderr") == (2, "")
        for redirection in ("2> /dev/full", "2>&-"):
            done = dsrt_with(redirection, *words)
            assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize("words", GONE, ids=" ".join)
def test_a_disk_that_is_full_is_one_message_and_2(cache, words):
    done = dsrt_with("> /dev/full", *(str(cache) if word == "CACHE" else word for word in words))
    assert done.returncode == 2
    assert done.stderr == "error: [Errno 28] No space left on device\n"


def test_output_that_goes_nowhere_changes_no_exit_code(cache):
    for words in (["verify", cache], ["inspect", cache], ["query", cache, "SELECT 1"]):
        closed = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "dsrt_cli", *map(str, words)]
        assert subprocess.run(closed, stderr=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("words", [("verify",), ("inspect",)])
def test_too_little_memory_is_no_damage(dsrt, monkeypatch, cache, words):
    def load(*_):
        raise MemoryError

    monkeypatch.setattr("dsrt_format.Manifest.load", load)
    result = dsrt(*words, cache)
    assert result.exit_code == 2
    assert "the memory is too small" in result.output


def test_a_defect_is_a_traceback_and_no_damage(cache):
    code = (
        "import dsrt_cli.inspect, dsrt_cli\n"
        "dsrt_cli.inspect._show = lambda found: 1 / 0\n"
        f"import sys; sys.argv = ['dsrt', 'inspect', {str(cache)!r}]\n"
        "dsrt_cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "ZeroDivisionError" in done.stderr


def test_a_panic_of_an_engine_is_a_traceback_and_no_damage(dsrt, cache, monkeypatch):
    def panic(*_, **__):
        raise pl.exceptions.PanicException("index out of bounds")

    assert not issubclass(pl.exceptions.PanicException, Exception)
    monkeypatch.setattr(pl.SQLContext, "execute", panic)
    result = dsrt("query", cache, "SELECT 1")
    assert result.exit_code == 2
    assert "PanicException: index out of bounds" in result.stderr


@pytest.mark.parametrize(
    ("words", "said", "command"),
    [
        (["verify", "x", "--rate", "fast"], "'fast' is no rate above zero", "verify"),
        (["verify", "x", "--threads", "0"], "--threads", "verify"),
        (["inspect"], "Missing argument", "inspect"),
        (["build", "pets", "-o", "caches"], "expected a module (no path), a colon and a name", "build"),
        (["query", "x", "SELECT 1", "--yaml"], "--yaml", "query"),
        (["look"], "'look'", ""),
    ],
)
def test_errors_in_the_command_line_look_like_all_others(dsrt, words, said, command):
    result = dsrt(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    error, help_words = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert help_words.endswith(f"{command} --help says what there is")


@pytest.mark.parametrize("command", ["build", "verify"])
def test_help_tells_the_default_of_threads(dsrt, command):
    words = " ".join(dsrt(command, "--help").stdout.split())
    assert "the CPUs)" in words.partition("--threads")[2].partition("default: (")[2][:30]


def test_an_engine_that_cannot_be_imported_is_no_reason_to_take_the_slow_way(dsrt, cache, monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'numpy.core'", name="numpy.core")

    monkeypatch.setattr(dsrt_cli.verify.importlib, "import_module", broken)
    result = dsrt("verify", cache)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No module named 'numpy.core'" in result.stderr
