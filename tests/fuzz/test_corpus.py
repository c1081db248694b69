"""The corpus of the fuzzers, gone through once: plain implementation and engine judge each input alike."""

from __future__ import annotations

from pathlib import Path

import pytest

import dsrt_native
from dsrt_format.validate import Problem

from . import targets

CORPUS = Path(__file__).parents[2] / "packages/dsrt-native/fuzz/corpus"


def judged(problems: list[Problem]) -> object:
    """All but the messages."""
    return [(p.rule, p.kind, p.field, p.shard, p.sample) for p in problems]


@pytest.mark.parametrize("target", targets.NAMES)
def test_plain_implementation_and_engine_judge_every_input_alike(target: str) -> None:
    different = []
    inputs = sorted((CORPUS / target).iterdir())
    for path in inputs:
        plain = targets.check(target, path.read_bytes())
        if plain is None:
            continue
        native = targets.found_by(dsrt_native.verify, target, targets.place())
        if judged(plain) != judged(native):
            different.append((path.name, judged(plain), judged(native)))
    assert not different
    assert len(inputs) >= 20
