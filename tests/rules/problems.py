"""What two lists of problems are compared by, and the caches that they are of."""

from pathlib import Path
from typing import Any

from dsrt_format import validate
from dsrt_format.validate import Level, Problem
from dsrt_native import verify

LEVELS: tuple[Level, ...] = ("structure", "records", "digests")


def places(problems: list[Problem]) -> list[tuple[Any, ...]]:
    """All of the problems but their messages."""
    return [(p.rule, p.cache, p.field, p.shard, p.sample, p.kind, p.is_warning, p.unlisted) for p in problems]


def differences(path: Path, level: Level, threads: int = 2, parts: int = 1) -> list[str]:
    """What the engine's list has otherwise than the validator's, in words; nothing if they are equal."""
    expected = validate(path, level=level)
    found: list[Problem] = []
    for k in range(parts):
        found += verify(path, level=level, threads=threads, part=(k, parts))
    if parts == 1:
        left, right = places(found), places(expected)
    else:
        # The parts' lists follow each other otherwise than the whole's; nothing is in two of them.
        left, right = sorted(map(repr, places(found))), sorted(map(repr, places(expected)))
    if left == right:
        return []
    show = [f"engine: {problem}" for problem in found] + [f"validator: {problem}" for problem in expected]
    return [f"level {level}, {threads} threads, {parts} parts", *show]
