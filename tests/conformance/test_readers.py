"""The native reader reads every good vector and refuses every bad one, by each of its ways."""

from __future__ import annotations

import functools

import pytest

import dsrt_native
from dsrt_format.conformance import OpenCache, run
from dsrt_format.conformance.made_large import LARGE
from dsrt_format.conformance.vectors import FOLDER, names
from dsrt_format.errors import DataError

from .native import BatchReader, NativeReader

SMALL = [name for name in names() if name not in LARGE]
READERS: dict[str, OpenCache] = {
    "mmap": NativeReader,
    "pread": functools.partial(NativeReader, io="pread"),
    "batches": BatchReader,
    "batches by pread": functools.partial(BatchReader, io="pread"),
}


@pytest.mark.parametrize("reader", READERS)
def test_native_conforms(reader: str) -> None:
    assert run(READERS[reader], only=SMALL) == []


@pytest.mark.parametrize("name", LARGE)
def test_native_conforms_where_it_is_large(name: str) -> None:
    assert [run(READERS[reader], only=name) for reader in ("batches", "batches by pread")] == [[], []]


@pytest.mark.parametrize("name", [name for name in SMALL if name.startswith("bad/R039-")])
def test_lengths_are_not_planned_from_an_index_of_another_digest(name: str) -> None:
    (field,) = dsrt_native.Cache.open(FOLDER / name / "cache").fields.values()
    with pytest.raises(DataError) as caught:
        field.lengths()
    assert caught.value.rule == "R039"


# Without verification record checksums are not compared: the vectors must see that, and nothing else.
UNVERIFIED = functools.partial(NativeReader, verify=False)


def test_a_reader_that_compares_no_checksums_fails_in_vectors_of_checksums_alone() -> None:
    failed = {problem.vector for problem in run(UNVERIFIED, only=SMALL)}
    assert failed == {name for name in SMALL if name.startswith("bad/R033-")}
