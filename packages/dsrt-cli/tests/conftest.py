import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dsrt_cli.app import app
from dsrt_format import Bytes, Dense, Ragged, Text
from dsrt_format.reference import write

FIELDS = {
    "image": Dense("uint8", (2, 3), codec="zstd"),
    "tokens": Ragged("int32"),
    "file": Bytes(),
    "caption": Text(),
}
COLUMNS = {"label": "int32", "note": "string", "score": "float64"}


def sample(i):
    return {
        "image": np.full((2, 3), i, np.uint8),
        "tokens": np.arange(i, dtype=np.int32),
        "file": bytes(range(i)),
        "caption": f"caption {i}",
        "label": i % 2,
        "note": None if i == 1 else f"note {i}",
        "score": float("nan") if i == 2 else i / 4,
    }


@pytest.fixture
def cache(tmp_path):
    """Five samples: one field of each kind, three columns."""
    path = tmp_path / "pets"
    write(path, FIELDS, [sample(i) for i in range(5)], metadata=COLUMNS)
    return path


@pytest.fixture
def dsrt():
    """Runs a command line; the result has exit_code, stdout and stderr."""
    runner = CliRunner()

    def run(*words):
        result = runner.invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module that can be imported from the current directory; afterwards it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    written = []

    def write_module(name, text):
        Path(f"{name}.py").write_text(text)
        written.append(name)
        return name

    yield write_module
    for name in written:
        sys.modules.pop(name, None)


@pytest.fixture
def on_terminal():
    """Runs Python with a terminal as standard error, or as another stream; returns what it wrote there."""

    def run(*words, stream="stderr", **options):
        ours, theirs = pty.openpty()
        streams = {"stdout": subprocess.DEVNULL} | options | {stream: theirs}
        process = subprocess.Popen([sys.executable, *map(str, words)], **streams)
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not piece:
                break
            written += piece
        os.close(ours)
        assert process.wait() == 0, written
        return written.decode()

    return run
