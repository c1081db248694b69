"""The fuzz targets of the plain implementation, each a function of bytes.

Validator and reader are two ways through the same bytes: where one finds a breach of a rule the other does,
and neither raises anything else.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path

from dsrt_format import Manifest, reference
from dsrt_format.errors import DsrtError
from dsrt_format.metadata import read_table
from dsrt_format.validate import Problem, validate

from .forge import write

NAMES = ["manifest", "index", "record", "metadata"]
"""Parsers that the plain implementation has; a journal is the engine's alone."""

FOR_THE_VALIDATOR = frozenset({"R051", "R052", "R053"})
METADATA = ("R041", "R046")
BEHIND_A_DICTIONARY = frozenset({"R034", "R035", "R036"})
"""What a reader meets before it asks for the dictionary; who knows it to be damaged never looks."""
MEMORY = Path("/dev/shm")


@functools.cache
def place() -> Path:
    """A directory of this process that is used again and again, in memory where there is such a place."""
    made = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
    _KEPT.append(made)
    return Path(made.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def check(target: str, data: bytes) -> list[Problem] | None:
    """Judges an input, and returns the problems of its cache; None if it stands for none.

    Raises:
        AssertionError: Validator and reader differ.
    """
    root = place()
    if not write(target, data, root):
        return None
    problems = found_by(validate, target, root)
    refusals = {problem.rule for problem in problems} - FOR_THE_VALIDATOR
    assert "R050" not in refusals, "the digest was made here"
    found = _read(target, root)
    met = BEHIND_A_DICTIONARY if "R040" in refusals else frozenset()
    assert found in refusals | met if found else not refusals, f"{found} of {sorted(refusals)}"
    return problems


def _read(target: str, root: Path) -> str | None:
    """The rule for which the reader refuses the cache."""
    try:
        if target == "metadata":
            assert len(read_table(root)) == Manifest.load(root).num_samples
        else:
            _check_samples(reference.read(root), root)
    except DsrtError as error:
        return error.rule
    return None


def found_by(validator: Callable[..., list[Problem]], target: str, root: Path) -> list[Problem]:
    """The problems that count: the payload of a cache that is made for its metadata is none."""
    if target != "metadata":
        return validator(root)
    low, high = METADATA
    return [problem for problem in validator(root, level="structure") if low <= problem.rule <= high]


def _check_samples(samples: list[dict[str, object]], root: Path) -> None:
    """One sample read alone is the same."""
    if samples:
        last = reference.read_sample(root, len(samples) - 1)
        assert repr(last) == repr(samples[-1])


def target(name: str) -> Callable[[bytes], int]:
    """The function that the fuzzer calls; -1 for inputs that are not worth keeping."""
    return lambda data: -1 if check(name, data) is None else 0
