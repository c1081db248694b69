"""Vectors of several caches: a merge and a dataset refuse them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import dsrt_native
from dsrt_format import validate
from dsrt_format.conformance.vectors import FOLDER
from dsrt_format.errors import FormatError

TOGETHER: dict[str, Callable[[list[Path], Path], object]] = {
    "merge": dsrt_native.merge,
    "dataset": lambda paths, _: dsrt_native.Population(dsrt_native.Cache.open(path) for path in paths),
}
GROUPS = sorted(path.parent for path in FOLDER.glob("bad/*/first"))


@pytest.mark.parametrize("folder", GROUPS, ids=lambda folder: folder.name)
def test_caches_that_do_not_go_together_are_refused(folder: Path, tmp_path: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    paths = [folder / name for name in expected["caches"]]
    assert [validate(path) for path in paths] == [[], []]
    with pytest.raises(FormatError) as caught:
        TOGETHER[expected["refused_by"]](paths, tmp_path / "whole")
    assert [caught.value.rule] == expected["rules"]
    assert list(tmp_path.iterdir()) == []


def test_there_are_vectors_of_each_rule() -> None:
    assert {folder.name[:4] for folder in GROUPS} == {"R070", "R071", "R072"}
