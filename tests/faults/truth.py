"""The values a cache must give back, in one form for every reader: by their bits, so NaN equals itself."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsrt_format.dtypes import name_of
from tests.faults.sources import Source

Bits = Any
"""(dtype, shape, bytes) of an array; str, bytes, bool, int and None as they are; a float as its 8 bytes."""


def bits(value: Any) -> Bits:
    """Return a record or a cell in the form that compares."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return int(value.astype(np.int64))
    if isinstance(value, np.ndarray):
        return name_of(value.dtype), value.shape, value.tobytes()
    if isinstance(value, float | np.floating):
        return struct.pack("<d", float(value))
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Truth:
    """What a cache was made from.

    Attributes:
        fields: The values of each payload field, by sample.
        columns: The values of each metadata column, by sample.
        types: The type of each metadata column.
        nulls: The columns that hold a null somewhere.
    """

    fields: dict[str, list[Bits]]
    columns: dict[str, list[Bits]]
    types: dict[str, str]
    nulls: frozenset[str]

    @classmethod
    def of(cls, source: Source) -> Truth:
        """Return the truth of a source."""
        fields = {name: [bits(one[name]) for one in source.samples] for name in source.fields}
        columns = {name: [bits(one[name]) for one in source.samples] for name in source.columns}
        nulls = frozenset(name for name, cells in columns.items() if None in cells)
        return cls(fields, columns, dict(source.columns), nulls)

    def __len__(self) -> int:
        return len(next(iter(self.fields.values())))
