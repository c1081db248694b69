import subprocess
import sys

import pytest

import dsrt_cli.extras


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
