import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrt_format.conformance import run
from dsrt_format.conformance.made_large import LARGE
from dsrt_format.conformance.reference import ReferenceReader
from dsrt_format.conformance.vectors import names
from dsrt_format.errors import FormatError
from dsrt_format.rules import RULES

Record = tuple[tuple[int, ...], bytes]
SMALL = [name for name in names() if name not in LARGE]
GOOD = [name for name in SMALL if name.startswith("good/")]
# What a reader refuses; R039 belongs to those that plan lengths.
REFUSED = [rule for rule in RULES if rule < "R050" and rule != "R039"]


def bad(rule: str) -> list[str]:
    return [name for name in SMALL if name.startswith(f"bad/{rule}-")]


class Lenient:
    """A reader that lacks the check of one rule, or of all, and goes on with something."""

    def __init__(self, path: str, rules: list[str]) -> None:
        self._reader: ReferenceReader | None = None
        self._samples = 0
        try:
            self._reader = ReferenceReader(path)
            self._samples = len(self._reader)
        except FormatError as error:
            if error.rule not in rules:
                raise
            expected = json.loads((Path(path).parent / "expected.json").read_text("utf-8"))
            self._samples = expected.get("samples", 0)

    def __len__(self) -> int:
        return self._samples

    def record(self, field: str, sample: int) -> Record:
        return ((0,), b"") if self._reader is None else self._reader.record(field, sample)

    def column(self, name: str) -> list[bytes | None]:
        return [] if self._reader is None else self._reader.column(name)


@pytest.mark.parametrize("rule", REFUSED)
def test_a_reader_without_one_check_fails_in_each_vector_of_it(rule: str, vectors: Path) -> None:
    shipped = [name for name in bad(rule) if (vectors / name).exists()]
    found = (
        {problem.vector for problem in run(lambda path: Lenient(path, [rule]), only=shipped)}
        if shipped
        else set()
    )
    assert found == set(shipped)


def test_a_reader_that_never_refuses_fails_in_each_bad_vector(vectors: Path) -> None:
    shipped = [name for rule in REFUSED for name in bad(rule) if (vectors / name).exists()]
    found = run(lambda path: Lenient(path, list(RULES)), only=shipped)
    assert {problem.vector for problem in found} == set(shipped)


def changed(change: Callable[[str, Record], Record]) -> Callable[[str], ReferenceReader]:
    """The reference with other records."""

    class Changed(ReferenceReader):
        def record(self, field: str, sample: int) -> Record:
            return change(field, super().record(field, sample))

    return Changed


def on_floats(compute: Callable[[Any], Any]) -> Callable[[str, Record], Record]:
    def change(field: str, record: Record) -> Record:
        shape, data = record
        return (shape, compute(np.frombuffer(data, "<f8")).tobytes()) if field == "float64" else record

    return change


def composed(field: str, record: Record) -> Record:
    if field not in ("raw", "zstd", "title"):
        return record
    try:
        data = unicodedata.normalize("NFC", record[1].decode()).encode()
    except UnicodeDecodeError:
        return record
    return (len(data),), data


WRONG: dict[str, Callable[[str, Record], Record]] = {
    "minus zero as zero": on_floats(lambda values: np.where(values == 0, 0.0, values)),
    "one NaN for all": on_floats(lambda values: np.where(np.isnan(values), np.nan, values)),
    "text composed": composed,
    "a scalar as an axis of 1": lambda field, record: (record[0] or (1,), record[1]),
    "an empty shape flattened": lambda field, record: ((0,) if 0 in record[0] else record[0], record[1]),
    "a byte too few": lambda field, record: (record[0], record[1][:-1]),
    "big-endian": lambda field, record: (record[0], record[1][::-1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_reader_that_changes_values_fails(name: str) -> None:
    problems = run(changed(WRONG[name]), only=GOOD)
    assert problems
    assert all("expected" in problem.message or problem.message.endswith("more") for problem in problems)


class Shifted(ReferenceReader):
    """It finds the second shard a sample too early."""

    def record(self, field: str, sample: int) -> Record:
        return super().record(field, min(sample + (sample > 2), len(self) - 1))


class NullsFilled(ReferenceReader):
    def column(self, name: str) -> list[bytes | None]:
        return [value or b"\0" for value in super().column(name)]


class Shorter(ReferenceReader):
    def __len__(self) -> int:
        return max(0, super().__len__() - 1)


class OfAnotherId(ReferenceReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.cache_id ^= 1


class IdRefused(ReferenceReader):
    def __getattribute__(self, name: str) -> Any:
        if name == "cache_id":
            raise FormatError("damaged", rule="R003")
        return super().__getattribute__(name)


def test_a_cache_id_is_compared_where_there_is_one() -> None:
    (found,) = run(OfAnotherId, only="good/empty")
    assert "the cache_id is" in found.message
    (found,) = run(IdRefused, only="good/empty")
    assert found.message == "the cache_id was refused with R003 (R003: damaged); it must be read"


@pytest.mark.parametrize("reader", [Shifted, NullsFilled, Shorter])
def test_a_reader_that_takes_one_place_for_another_fails(reader: type[ReferenceReader]) -> None:
    assert run(reader, only=["good/all-kinds", "good/shards", "good/metadata-nulls"])


def test_an_exception_without_a_rule_is_a_failure() -> None:
    def open_cache(path: str) -> ReferenceReader:
        raise ValueError("what is this?")

    (problem,) = run(open_cache, only="bad/R033-a-record-twice")
    assert problem.message == "the cache was refused with ValueError: what is this?; only R033 may be"


class DigestsRefused(ReferenceReader):
    """It is asked for digests first, and refuses them."""

    def field_digest(self, field: str) -> str | None:
        raise FormatError("damaged", rule="R033")

    def column_digest(self, name: str) -> str | None:
        raise FormatError("damaged", rule="R041")


def test_digests_that_are_refused_are_wrong_answers_and_no_end_of_the_run() -> None:
    messages = [problem.message for problem in run(DigestsRefused, only="good/all-kinds")]
    assert messages[0] == "field 'blob' was refused with R033 (R033: damaged); it must be read"
    assert all("it must be read" in message for message in messages[:-1])


def test_a_reader_that_refuses_what_only_a_validator_judges_fails() -> None:
    def strict(path: str) -> ReferenceReader:
        raise FormatError("unknown files", rule="R053")

    assert run(strict, only="bad/R053-*")


def test_names_that_fit_nothing_are_an_error() -> None:
    with pytest.raises(ValueError, match="no vector"):
        run(ReferenceReader, only="god/*")
