"""Every reader refuses every forged case by the id of its rule, and reads what only looks broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dsrt_format import validate
from dsrt_format.errors import DataError, FormatError, NotPublishedError, UnknownVersionError

from .accepted import ACCEPTED, Accepted
from .case import Case
from .cases import CASES
from .readers import Reader, Reference, bits, compare

READERS: list[Reader] = [Reference()]
FILE_RULES = {"R030", "R031", "R039", "R040"}


def name_of(value: Any) -> str:
    return str(getattr(value, "id", None) or value.name)


def of_readers(function: Any) -> Any:
    return pytest.mark.parametrize("reader", READERS, ids=name_of)(function)


def of_cases(function: Any) -> Any:
    return pytest.mark.parametrize("case", CASES, ids=name_of)(function)


def spoilt(case: Case) -> set[int]:
    """The samples whose record in the case's field cannot be read."""
    if case.sample is not None and case.rule not in FILE_RULES:
        return {case.sample} | case.others
    counts = case.make().counts
    shards = range(len(counts)) if case.shard is None else [case.shard]
    return {sum(counts[:shard]) + ordinal for shard in shards for ordinal in range(counts[shard])}


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
        assert (error.shard, error.sample) == (None, None)
        return
    assert error.field == case.field or (case.field is None and error.rule in ("R007", "R008"))
    if case.shard is not None or case.when == "open":
        assert error.shard == case.shard
    if case.when == "read":
        assert error.sample in spoilt(case) or (error.sample is None and case.rule in FILE_RULES)
    else:
        assert error.sample is None


@of_cases
@of_readers
def test_a_broken_rule_is_named(reader: Reader, case: Case, tmp_path: Path) -> None:
    path = tmp_path / "bad"
    case.make().write(path)
    reader.spared(path, case)
    for how, attempt in reader.attempts(path, case).items():
        with pytest.raises(FormatError) as caught:
            attempt()
        check(caught.value, case, path, how)


@of_cases
def test_the_validator_reports_the_rule(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "bad"
    case.make().write(path)
    problems = validate(path)
    found = {problem.rule for problem in problems}
    assert case.rule in found
    assert found <= {case.rule} | case.also


@pytest.mark.parametrize("accepted", ACCEPTED, ids=name_of)
@of_readers
def test_what_only_looks_broken_is_read(reader: Reader, accepted: Accepted, tmp_path: Path) -> None:
    cache = accepted.make()
    cache.write(tmp_path / "good")
    assert compare(reader.fields(tmp_path / "good"), cache) == []
    found = reader.columns(tmp_path / "good")
    for name, values in cache.columns.items() if sum(cache.counts) else ():
        assert found[name] == [bits(value) for value in values], name


@pytest.mark.parametrize("accepted", ACCEPTED, ids=name_of)
def test_the_validator_is_silent_about_what_only_looks_broken(accepted: Accepted, tmp_path: Path) -> None:
    accepted.make().write(tmp_path / "good")
    assert {problem.rule for problem in validate(tmp_path / "good")} <= accepted.also
