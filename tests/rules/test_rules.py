"""Every reader refuses every forged case by the id of its rule, and reads what only looks broken."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dsrt_format import Manifest, validate
from dsrt_format.errors import DataError, FormatError, NotPublishedError, UnknownVersionError

from .accepted import ACCEPTED, FULL_SHARD, Accepted
from .case import Case
from .cases import CASES
from .native import Native
from .readers import FILE_RULES, Reader, Reference, bits, compare, spoilt
from .soundness import broken

READERS: list[Reader] = [
    Reference(),
    Native("native mmap"),
    Native("native pread", io="pread"),
    Native("unverified", verify=False),
]


BREAKS_A_DIGEST = {"R002", "R003", *FILE_RULES, "R033", "R041"}


def name_of(value: Any) -> str:
    return str(getattr(value, "id", None) or value.name)


def of_readers(function: Any) -> Any:
    return pytest.mark.parametrize("reader", READERS, ids=name_of)(function)


@pytest.fixture(scope="module", params=CASES, ids=name_of)
def bad(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Case, Path]]:
    """A case and the directory it forged, which no reader changes; gone before the next is made."""
    folder = tmp_path_factory.mktemp("bad")
    request.param.make().write(folder / "bad")
    yield request.param, folder / "bad"
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=ACCEPTED, ids=name_of)
def good(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Accepted, Path]]:
    """The same for what must be accepted."""
    folder = tmp_path_factory.mktemp("good")
    request.param.make().write(folder / "good")
    yield request.param, folder / "good"
    shutil.rmtree(folder)


def check(error: FormatError, case: Case, path: Path, how: str) -> None:
    """The error names the rule, the cache and the place."""
    assert (how, error.rule, str(error)[:5]) == (how, case.rule, f"{case.rule}:"), error
    assert error.cache == str(path)
    if case.rule == "R000":
        assert isinstance(error, NotPublishedError)
    elif case.rule == "R005":
        assert isinstance(error, UnknownVersionError)
    elif case.when in ("read", "lengths"):
        assert isinstance(error, DataError)
    elif case.when == "open":
        assert not isinstance(error, DataError)
    if case.when == "metadata":
        assert error.shard is None
        assert error.sample is None or how == "gather" or case.rule == "R046"
        return
    assert error.field == case.field or (case.field is None and error.rule in ("R007", "R008"))
    if case.shard is not None or case.when == "open":
        assert error.shard == case.shard
    if case.when == "read":
        assert error.sample in spoilt(case) or (error.sample is None and case.rule in FILE_RULES)
    else:
        assert error.sample is None


def test_a_case_breaks_no_digest_but_its_own(bad: tuple[Case, Path]) -> None:
    case, path = bad
    if case.rule == "R000":
        return
    found = broken(path)
    if case.rule in BREAKS_A_DIGEST:
        assert case.rule in found or case.rule == "R040"
        assert found <= {case.rule} | case.also
    elif case.rule > "R021":
        assert found <= case.also
    else:
        # What the manifest says may stand for no files; the text and its digest are right.
        assert not found & {"R002", "R003"}


@of_readers
def test_a_broken_rule_is_named(reader: Reader, bad: tuple[Case, Path]) -> None:
    case, path = bad
    reader.spared(path, case)
    for how, attempt in reader.attempts(path, case).items():
        with pytest.raises(FormatError) as caught:
            attempt()
        check(caught.value, case, path, how)


def test_the_validator_reports_the_rule(bad: tuple[Case, Path]) -> None:
    case, path = bad
    # A field that is renamed leaves a directory that belongs to nothing: a warning.
    found = {problem.rule for problem in validate(path) if not problem.is_warning}
    assert case.rule in found
    assert found <= {case.rule} | case.also


@of_readers
def test_what_only_looks_broken_is_read(reader: Reader, good: tuple[Accepted, Path]) -> None:
    cache, path = good[0].make(), good[1]
    assert compare(reader.fields(path), cache) == []
    found = reader.columns(path)
    for name, values in cache.columns.items() if sum(cache.counts) else ():
        assert found[name] == [bits(value) for value in values], name


def test_the_validator_accepts_what_only_looks_broken(good: tuple[Accepted, Path]) -> None:
    assert {problem.rule for problem in validate(good[1])} <= good[0].also


def test_a_shard_may_hold_2_to_the_20_samples(tmp_path: Path) -> None:
    FULL_SHARD.make().write(tmp_path / "good")
    assert Manifest.load(tmp_path / "good").shards == (2**20,)
