"""Vectors of several caches: what a merge and a dataset refuse."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.rules.arrow_columns import TYPES, Column
from tests.rules.arrow_file import ArrowFile
from tests.rules.forge import Cache, Field
from tests.rules.goods import DICTIONARY, ramp, with_metadata
from tests.vectors.bits import filled


@dataclass(frozen=True)
class Several:
    """Two caches that are sound one by one and must not be put together.

    Attributes:
        rule: The rule that refuses them.
        name: What is wrong, unique within the rule.
        refused_by: "merge" or "dataset".
        caches: Makes them, in the order in which they are given.
    """

    rule: str
    name: str
    refused_by: str
    caches: Callable[[], tuple[Cache, Cache]]

    def expected(self) -> dict[str, Any]:
        """The content of expected.json."""
        return {
            "about": f"{self.name[0].upper()}{self.name[1:]}.",
            "caches": ["first", "second"],
            "rules": [self.rule],
            "refused_by": self.refused_by,
        }


VECTORS: list[Several] = []


def part(name: str, start: int, *fields: Field, columns: dict[str, str] | None = None) -> Cache:
    """Two samples; the values of the columns are the same, whatever their types."""
    counts = (2,)
    made = []
    for item in fields:
        content = [ramp("u1", (4,), start + row).view(_array_type(item)) for row in range(2)]
        shape = item.shape if item.kind == "dense" else (-1,) + (1,) * (item.ndim - 1)
        values = [row.reshape(shape) for row in content]
        made.append(
            filled(item, [row.tobytes() for row in content] if item.kind == "bytes" else values, counts)
        )
    cache = Cache(name=name, fields=made, counts=[2])
    if columns:
        cells = {"utf8_view": ["a", None], "float64": [0.5, 1.5]}
        found = [Column(label, TYPES[kind], cells.get(kind, [1, None])) for label, kind in columns.items()]
        with_metadata(cache, ArrowFile(found, 2))
    return cache


def _array_type(item: Field) -> np.dtype[Any]:
    return np.dtype(
        {"uint8": "u1", "int8": "i1", "uint16": "<u2", "int16": "<i2", "float32": "<f4"}[item.dtype]
    )


def differ(name: str, *pair: tuple[Field, ...]) -> None:
    """Two caches with other fields."""

    def caches() -> tuple[Cache, Cache]:
        first, second = (
            part(label, start, *fields) for label, start, fields in zip("ab", (0, 9), pair, strict=True)
        )
        return first, second

    VECTORS.append(Several("R070", name, "merge", caches))


def x(**changes: Any) -> Field:
    """The field x otherwise."""
    return Field(**{"name": "x", "kind": "dense", "dtype": "uint8", "shape": (4,)} | changes)


differ("another dtype", (x(),), (x(dtype="int8"),))
differ("another shape", (x(),), (x(shape=(2, 2)),))
differ("another kind", (x(),), (x(kind="bytes", shape=()),))
differ("another codec", (x(),), (x(codec="zstd"),))
differ("another delta", (x(codec="zstd"),), (x(codec="zstd", delta=1),))
differ("another number of axes", (x(kind="ragged", shape=()),), (x(kind="ragged", shape=(), ndim=2),))
differ("another name", (x(),), (x(name="y"),))
differ("a field more", (x(),), (x(), x(name="y")))
differ(
    "another dictionary",
    (x(codec="zstd-dict", dictionary=DICTIONARY),),
    (x(codec="zstd-dict", dictionary=DICTIONARY[::-1]),),
)


def twice() -> tuple[Cache, Cache]:
    """One cache under two paths."""
    return part("a", 0, x()), part("a", 0, x())


VECTORS.append(Several("R070", "a part twice, under two paths", "merge", twice))
VECTORS.append(Several("R072", "a cache twice, under two paths", "dataset", twice))

SCHEMAS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "another type of a column": ({"c": "int32"}, {"c": "int64"}),
    "another zone of a column": ({"c": "timestamp[us]"}, {"c": "timestamp[us, UTC]"}),
    "another name of a column": ({"c": "int32"}, {"d": "int32"}),
    "columns in another order": ({"c": "int32", "d": "float64"}, {"d": "float64", "c": "int32"}),
    "metadata in one cache alone": ({"c": "int32"}, {}),
}


def schemas(pair: tuple[dict[str, str], dict[str, str]]) -> tuple[Cache, Cache]:
    return part("a", 0, x(), columns=pair[0]), part("b", 9, x(), columns=pair[1])


for label, pair in SCHEMAS.items():
    VECTORS.append(Several("R071", label, "merge", functools.partial(schemas, pair)))
