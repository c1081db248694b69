"""A mapped file that is cut off: an exception of ours or the end by SIGBUS, and no wrong value."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsrt_format.errors import FormatError
from dsrt_native import Cache

from .caches import FILES, open_all, questions
from .changes import CUTS

GOOD, WRONG = 0, 3
RULES = ("R030", "R032", "R033", "R039", "R041", "R042")


def ends(kind: str, copies: list[tuple[str, str, str]]) -> None:
    """Cuts a file off under a mapped cache, one way in each copy; forks ask, and print how they end."""
    for path, where, state in copies:
        old = pickle.loads(Path(path).with_name("answers").read_bytes())
        cache = Cache.open(path, io="mmap")
        if state == "all open":
            open_all(cache)
        CUTS[where](Path(path) / FILES[kind])
        for name in ASKED[kind]:
            child = os.fork()
            if child == 0:
                os._exit(answer(cache, name, old))
            print(where, state, name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sep=":")


def answer(cache: Cache, name: str, old: dict[str, Any]) -> int:
    try:
        found = questions()[name](cache)
    except FormatError as error:
        return GOOD if error.rule in RULES else WRONG
    return GOOD if found == old[name] else WRONG


ASKED = {
    "fixed shard": ["raw 3", "raw 5", "raw batch"],
    "indexed shard": ["boxes 3", "boxes 5", "boxes batch", "boxes lengths"],
    "compressed shard": ["image 3", "image 5", "image batch"],
    "dictionary": ["tokens 0", "tokens 5"],
    "metadata": ["number batch", "word 5", "long 5", "weights", "table"],
}


@pytest.mark.parametrize("kind", FILES)
def test_a_mapped_file_that_is_cut_off_never_gives_a_wrong_value(
    kind: str, fresh: Callable[[], Path], old: dict[str, Any]
) -> None:
    copies = []
    for where in CUTS:
        for state in ("nothing open", "all open"):
            path = fresh()
            path.with_name("answers").write_bytes(pickle.dumps(old))
            copies.append((str(path), where, state))
    script = f"from tests.changing.test_mapped import ends; ends({kind!r}, {copies!r})"
    command = [sys.executable, "-u", "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=200)
    found = [line.rsplit(":", 1) for line in run.stdout.splitlines()]
    assert (run.returncode, len(found)) == (0, len(copies) * len(ASKED[kind])), run.stderr
    for question, end in found:
        # Before it is mapped it is seen to be short.
        fair = {GOOD} if "nothing open" in question else {GOOD, -signal.SIGBUS}
        assert int(end) in fair, question
