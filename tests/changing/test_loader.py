"""Files that change under a running loader: right batches or exceptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsrt_format.errors import DataError, FormatError
from dsrt_native import Cache, Loader

from .caches import SAMPLES, plain
from .changes import CUTS, REBUILDS, REPLACEMENTS

FIELDS = ["raw", "boxes", "image", "tokens", "number", "word", "_row"]
# For these a mapped cache is as safe as one that is read.
CHANGES = {**REBUILDS, **{f"a shard {name}": change for name, change in REPLACEMENTS.items()}}


def check(batch: dict[str, Any], old: dict[str, Any]) -> int:
    """Compares what is said to be valid; returns how much that is."""
    rows = batch["_row"].tolist()
    valid = batch["_valid"].tolist() if "_valid" in batch else [True] * len(rows)
    for name in ("raw", "boxes", "image", "tokens"):
        column = batch[name].to_list() if hasattr(batch[name], "to_list") else batch[name]
        for row, value, is_valid in zip(rows, column, valid, strict=True):
            assert not is_valid or plain(value) == old[f"{name} {row}"], (name, row)
    for row, number, word in zip(rows, batch["number"], batch["word"], strict=True):
        assert number == 101 + row
        assert word == f"a word of version 1 that is longer than a view, {row}"
    return valid.count(True)


def run(loader: Loader, change: Callable[[], object], old: dict[str, Any]) -> tuple[int, list[FormatError]]:
    """Reads some batches, changes files, reads on: how many samples were right then, and what was raised."""
    steps = loader.steps()
    for _ in range(3):
        assert check(next(steps), old) == 2
    change()
    right, raised = 0, []
    for _ in range(4 * SAMPLES):
        try:
            batch = next(steps)
        except FormatError as error:
            raised.append(error)
        else:
            right += check(batch, old)
    loader.close()
    return right, raised


@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_running_loader_gives_old_batches_or_raises(
    name: str, io: Any, fresh: Callable[[], Path], old: dict[str, Any]
) -> None:
    path = fresh()
    loader = Loader(Cache.open(path, io=io), 2, order="permuted", fields=FIELDS, prefetch=1, threads=2)
    change = CHANGES[name]
    target = path if name in REBUILDS else path / "fields/boxes/00001.shard"
    right, raised = run(loader, lambda: change(target), old)
    assert right + 2 * len(raised) == 8 * SAMPLES
    assert {error.rule for error in raised} <= {"R030", "R031"}


@pytest.mark.parametrize("errors", ["raise", "mask"])
@pytest.mark.parametrize("where", CUTS)
def test_a_running_loader_meets_a_shard_that_is_cut_off_as_damage(
    where: str, errors: Any, fresh: Callable[[], Path], old: dict[str, Any]
) -> None:
    path = fresh()
    cache = Cache.open(path, io="pread")
    loader = Loader(cache, 2, order="permuted", fields=FIELDS, prefetch=1, threads=2, errors=errors)
    right, raised = run(loader, lambda: CUTS[where](path / "fields/raw/00001.shard"), old)
    for error in raised:
        assert isinstance(error, DataError)
        assert (error.rule, error.field, error.shard, error.cache) == ("R030", "raw", 1, cache.path)
        assert error.sample in (3, 4, 5)
    if errors == "mask":
        assert raised == []
        assert 4 * SAMPLES <= right < 8 * SAMPLES
        damaged = {(sample, field) for _, sample, field in loader.stats().damaged}
        assert {(5, "raw")} <= damaged <= {(sample, "raw") for sample in (3, 4, 5)}
    else:
        assert raised
