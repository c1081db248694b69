"""What must come out of a vector: the content of its expected.json."""

import struct
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, TypedDict

import blake3

__all__ = [
    "Column",
    "Digest",
    "Expected",
    "Place",
    "Record",
    "Records",
    "StoredRecord",
    "column_digest",
    "field_digest",
    "problem",
    "refused",
    "stored",
]

Record: TypeAlias = tuple[tuple[int, ...], bytes]
_NULL = 2**64 - 1


class StoredRecord(TypedDict):
    """A record: its shape, and its bytes in hex."""

    shape: list[int]
    hex: str


class Records(TypedDict, total=False):
    """The records of a field, one of the two. None stands for a record that a reader must refuse."""

    records: list[StoredRecord | None]
    blake3: str


class Column(TypedDict, total=False):
    """A metadata column: its type, and its values in hex or the digest of them."""

    type: str
    values: list[str | None]
    blake3: str


class Place(TypedDict):
    """One problem that a validator reports."""

    rule: str
    field: str | None
    shard: int | None
    sample: int | None
    kind: str


class Expected(TypedDict, total=False):
    """The content of an expected.json; the first four keys are those of good vectors.

    Attributes:
        about: What the vector is.
        samples: The number of samples.
        cache_id: The id of the cache.
        fields: Per field its records, as far as they can be read.
        columns: Per column its values; None for a column that a reader must refuse.
        rules: The ids of all problems; a reader that refuses raises one of them.
        problems: What a validator reports, in order.
        refused_by: Whether a reader must refuse something, or reads on and only a validator objects.
        step: Where a reader must refuse at the latest.
        may_refuse: Rules that a reader may check though it need not, where only a validator must.
    """

    about: str
    samples: int
    cache_id: int
    fields: dict[str, Records]
    columns: dict[str, Column | None]
    rules: list[str]
    problems: list[Place]
    refused_by: Literal["reader", "validator"]
    step: Literal["open", "read"]
    may_refuse: list[str]


class Digest:
    """BLAKE3 of a long answer: of each part its shape and its length as u64, then its bytes."""

    def __init__(self) -> None:
        self._hash = blake3.blake3()

    def add(self, shape: Sequence[int], data: bytes | None) -> None:
        """Add a record, or with the shape () a value of a column; None is a null."""
        length = _NULL if data is None else len(data)
        self._hash.update(struct.pack(f"<{len(shape) + 1}Q", *shape, length) + (data or b""))

    def hexdigest(self) -> str:
        """Return 64 hex digits."""
        return self._hash.hexdigest()


def field_digest(records: Iterable[Record]) -> str:
    """Return the digest of all records of a field."""
    digest = Digest()
    for shape, data in records:
        digest.add(shape, data)
    return digest.hexdigest()


def column_digest(values: Iterable[bytes | None]) -> str:
    """Return the digest of all values of a column."""
    digest = Digest()
    for value in values:
        digest.add((), value)
    return digest.hexdigest()


def stored(records: Iterable[Record | None]) -> Records:
    """Return records as expected.json holds them."""
    return {
        "records": [
            None if record is None else {"shape": list(record[0]), "hex": record[1].hex()}
            for record in records
        ]
    }


def problem(
    rule: str,
    kind: str,
    *,
    field: str | None = None,
    shard: int | None = None,
    sample: int | None = None,
) -> Place:
    """Return a problem as expected.json holds it."""
    return {"rule": rule, "field": field, "shard": shard, "sample": sample, "kind": kind}


def refused(step: Literal["open", "read"], *problems: Place, readable: Expected | None = None) -> Expected:
    """Return the expectation of a cache that a reader must refuse, but for what it is about.

    Args:
        step: Where it must be refused.
        *problems: What a validator reports.
        readable: `samples`, `fields` and `columns`, where some of it stays readable.
    """
    found: Expected = {
        "rules": sorted({place["rule"] for place in problems}),
        "problems": list(problems),
        "refused_by": "reader",
        "step": step,
    }
    return found if readable is None else {**found, **readable}
