"""What dsrt_native promises beyond the table of cases: files that change, chunks, no verification."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dsrt_native
from dsrt_format.errors import DataError, FormatError
from dsrt_native.cache import Io

from .accepted import FULL_SHARD
from .arrow_columns import TYPES, Column
from .arrow_file import ArrowFile
from .case import Case
from .cases import CASES
from .cases_files import DAMAGE
from .forge import CHUNK, Cache
from .goods import main, with_metadata
from .native import Native

FILES = {
    "dense": "fields/dense/00001.shard",
    "rag": "fields/rag/00001.shard",
    "tokens": "fields/tokens/dictionary.bin",
}
UNVERIFIED = Native("native without verification", verify=False)


@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("of", FILES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_is_looked_at_again_when_it_is_first_used(
    of: str, damage: str, io: Io, tmp_path: Path
) -> None:
    main().write(tmp_path / "cache")
    cache = dsrt_native.Cache.open(tmp_path / "cache", io=io)
    DAMAGE[damage](tmp_path / "cache" / FILES[of])
    with pytest.raises(DataError) as caught:
        cache.fields[of][3]
    assert (caught.value.rule, caught.value.field) == ("R030", of)
    assert cache.fields["title"][3]


@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_metadata_is_looked_at_again_when_it_is_first_used(damage: str, io: Io, tmp_path: Path) -> None:
    main().write(tmp_path / "cache")
    cache = dsrt_native.Cache.open(tmp_path / "cache", io=io)
    DAMAGE[damage](tmp_path / "cache/metadata.arrow")
    for use in (lambda: cache.metadata, lambda: cache[0]):
        with pytest.raises(FormatError) as caught:
            use()
        assert caught.value.rule == "R030"
    assert cache.fields["title"][3]


def test_a_file_that_shrinks_after_open_reads_no_further(tmp_path: Path) -> None:
    main().write(tmp_path / "cache")
    cache = dsrt_native.Cache.open(tmp_path / "cache")
    os.truncate(tmp_path / "cache" / FILES["rag"], 70)
    with pytest.raises(DataError) as caught:
        cache[:]
    assert (caught.value.rule, caught.value.field, caught.value.shard) == ("R030", "rag", 1)


def three_chunks() -> Cache:
    """Five rows of 2.4 MB each: row 2 alone lies in the second of three chunks."""
    rows = [bytes([number]) * 2_400_000 for number in range(5)]
    return with_metadata(main(), ArrowFile([Column("c", TYPES["binary_view"], rows)], 5))


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_a_gather_checks_the_chunks_it_touches(io: Io, tmp_path: Path) -> None:
    cache = three_chunks()
    cache.edit_metadata = lambda content: content[: CHUNK + 2_000_000] + b"x" + content[CHUNK + 2_000_001 :]
    cache.write(tmp_path / "cache")
    population = dsrt_native.Cache.open(tmp_path / "cache", io=io).population
    assert population.gather([0, 4], ["c"])["c"] == [bytes(2_400_000), b"\4" * 2_400_000]
    with pytest.raises(FormatError) as caught:
        population.gather([0, 2], ["c"])
    assert caught.value.rule == "R041"


def rule_of(attempt: Callable[[], object]) -> str:
    """The id that a read is refused by, or nothing."""
    try:
        attempt()
    except DataError as error:
        return error.rule
    return ""


UNCHECKED = [case for case in CASES if case.rule == "R033"]


@pytest.mark.parametrize("case", UNCHECKED, ids=lambda case: case.name)
def test_without_verification_only_the_record_checksum_is_not_compared(case: Case, tmp_path: Path) -> None:
    case.make().write(tmp_path / "bad")
    attempts = UNVERIFIED.all_attempts(tmp_path / "bad", case)
    found = {rule_of(attempt) for attempt in attempts.values()}
    # What was damaged may break a later rule, too.
    assert found <= {"", "R034", "R035", "R036", "R037", "R038"}


def test_a_shard_may_hold_2_to_the_20_samples(tmp_path: Path) -> None:
    FULL_SHARD.make().write(tmp_path / "good")
    field = dsrt_native.Cache.open(tmp_path / "good").fields["x"]
    assert len(field) == 2**20
    assert field[-1].shape == (0,)
    assert np.asarray(field[:]).shape == (2**20, 0)
