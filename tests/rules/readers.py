"""The readers under test, each behind the same few questions."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dsrt_format import Manifest, reference

from .case import Case
from .forge import Cache, Field

Attempts = dict[str, Callable[[], object]]
FILE_RULES = {"R030", "R031", "R039", "R040"}  # of a whole file, whichever sample was asked for


class Reader(Protocol):
    """What the tests ask of an implementation."""

    name: str

    def attempts(self, path: Path, case: Case) -> Attempts:
        """Every way in which this reader meets what the case breaks; each must raise."""
        ...

    def spared(self, path: Path, case: Case) -> None:
        """Reads what the case does not break, if this reader can read it alone."""
        ...

    def fields(self, path: Path) -> dict[str, list[Any]]:
        """Every record by field, in the order of the samples."""
        ...

    def columns(self, path: Path) -> dict[str, list[Any]]:
        """Every metadata column as Python values; temporal ones as integers."""
        ...


def spoilt(case: Case) -> set[int]:
    """The samples whose record in the case's field cannot be read."""
    if case.sample is not None and case.rule not in FILE_RULES:
        return {case.sample} | case.others
    counts = case.make().counts
    shards = range(len(counts)) if case.shard is None else [case.shard]
    return {sum(counts[:shard]) + ordinal for shard in shards for ordinal in range(counts[shard])}


def same(found: Any, value: Any, field: Field) -> bool:
    """Whether a reader's record is the forged value, bit for bit, with the field's dtype and shape."""
    if not isinstance(value, np.ndarray):
        return type(found) is type(value) and bool(found == value)
    array = np.asarray(found)
    return (
        array.dtype.name == field.dtype and array.shape == value.shape and array.tobytes() == value.tobytes()
    )


def compare(found: dict[str, list[Any]], cache: Cache) -> list[str]:
    """What differs between a reader's records and those that were forged."""
    if list(found) != [field.name for field in cache.fields]:
        return [f"fields {list(found)}"]
    wrong = []
    for field in cache.fields:
        records = found[field.name]
        if len(records) != sum(cache.counts):
            wrong.append(f"{field.name}: {len(records)} records")
        pairs = zip(records, field.values, strict=False)
        wrong += [
            f"{field.name} {i}: {a!r}, not {b!r}"[:300]
            for i, (a, b) in enumerate(pairs)
            if not same(a, b, field)
        ]
    return wrong


def bits(value: Any) -> Any:
    """A value that compares by its bits: NaN equals itself, 0.0 is not -0.0."""
    return struct.pack("<d", value) if isinstance(value, float) else value


def plain(value: Any) -> Any:
    """A metadata value as `columns` gives it."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return int(value.astype(np.int64))
    return bits(value)


class Reference:
    """dsrt_format.reference: plain, and reads all or nothing."""

    name = "reference"

    def attempts(self, path: Path, case: Case) -> Attempts:
        return {"read": lambda: reference.read(path)}

    def spared(self, path: Path, case: Case) -> None:
        """Nothing: a damaged cache gives no sample here."""

    def fields(self, path: Path) -> dict[str, list[Any]]:
        samples = reference.read(path)
        names = [field.name for field in Manifest.load(path).fields]
        return {name: [sample[name] for sample in samples] for name in names}

    def columns(self, path: Path) -> dict[str, list[Any]]:
        samples = reference.read(path)
        fields = {field.name for field in Manifest.load(path).fields}
        names = [name for name in samples[0] if name not in fields] if samples else []
        return {name: [plain(sample[name]) for sample in samples] for name in names}
