import os
import subprocess
import sys

import pytest

from dsrt_cli.terminal import printable, progress, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (5 * 2**20, "5.0 MiB"),
        (3 * 2**30, "3.0 GiB"),
        (5000 * 2**40, "5,000.0 TiB"),
    ],
)
def test_sizes_are_in_binary_units(count, text):
    assert size(count) == text


def test_printable_escapes_control_characters_and_keeps_letters_and_line_ends():
    assert printable("größe 日本\nnext") == "größe 日本\nnext"
    assert printable("a\x1b[2J\r\x07\u202eb") == r"a\x1b[2J\r\x07\u202eb"


def test_progress_shows_nothing_where_standard_error_is_no_terminal(capfd):
    with progress("working", delay=0) as report:
        report(1, 2)
    assert capfd.readouterr() == ("", "")


def test_on_a_terminal_what_takes_long_shows_a_bar_with_rate_and_time_left(on_terminal):
    text = on_terminal(
        "-c",
        "import time\n"
        "from dsrt_cli.terminal import progress\n"
        "with progress('building pets', delay=0.1) as report:\n"
        "    for i in range(8):\n"
        "        time.sleep(0.1)\n"
        "        report(500 + i, 1000, rate=8.0, seconds_left=62 - i / 8)\n",
    )
    assert "building pets" in text
    assert "507/1000" in text
    assert "8/s" in text
    assert "0:01:01" in text


def test_on_a_terminal_bytes_show_their_rate_too(on_terminal):
    text = on_terminal(
        "-c",
        "import time\n"
        "from dsrt_cli.terminal import progress\n"
        "with progress('verifying', of_bytes=True, delay=0) as report:\n"
        "    for i in range(8):\n"
        "        time.sleep(0.1)\n"
        "        report(i << 20, 10 << 20)\n",
    )
    assert "/10.0 MiB" in text
    assert "MB/s" in text or "MiB/s" in text


def test_on_a_terminal_what_is_quick_shows_nothing(on_terminal):
    code = "from dsrt_cli.terminal import progress\nwith progress('quick') as report:\n    report(1, 1)\n"
    assert on_terminal("-c", code) == ""


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_no_variable_of_the_environment_puts_bars_into_logs(variable):
    code = (
        "from dsrt_cli.terminal import progress\n"
        "with progress('working', delay=0) as report:\n"
        "    report(1, 2)\n"
    )
    environment = os.environ | {variable: "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_what_is_printed_beside_a_bar_stays_on_standard_output(on_terminal, tmp_path):
    code = (
        "import time\n"
        "from dsrt_cli.terminal import progress\n"
        "with progress('working', delay=0) as report:\n"
        "    time.sleep(0.3)\n"
        "    print('printed')\n"
    )
    with open(tmp_path / "printed.txt", "wb") as file:
        text = on_terminal("-c", code, stdout=file)
    assert (tmp_path / "printed.txt").read_text() == "printed\n"
    assert "working" in text
    assert "printed" not in text
