"""The plain reader behind the questions of conformance, and as a program that prints what it reads.

``python -m dsrt_format.conformance.reference CACHE`` shows what another program should print of a cache.
"""

import argparse
import json
from typing import Any

import numpy as np

from dsrt_format import reference
from dsrt_format.conformance.arrow_bits import column_bits
from dsrt_format.errors import FormatError
from dsrt_format.manifest import Manifest
from dsrt_format.metadata import read_columns, read_table

__all__ = ["ReferenceReader", "record_of"]


class ReferenceReader:
    """`dsrt_format.reference.read`, which reads everything when it opens a cache, or nothing.

    Args:
        path: The directory of the cache.

    Attributes:
        cache_id: The id of the cache.

    Raises:
        FormatError: Something in it breaks a rule.
    """

    def __init__(self, path: str) -> None:
        self.cache_id = Manifest.load(path).cache_id
        self._samples = reference.read(path)
        self._table = read_table(path)

    def __len__(self) -> int:
        return len(self._samples)

    def record(self, field: str, sample: int) -> tuple[tuple[int, ...], bytes]:
        """Return a record."""
        return record_of(self._samples[sample][field])

    def column(self, name: str) -> list[bytes | None]:
        """Return a metadata column."""
        if self._table is None:
            raise KeyError(name)
        return column_bits(self._table.column(name))


def record_of(value: Any) -> tuple[tuple[int, ...], bytes]:
    """Return shape and bytes of a payload value as readers hand it out: an array, bytes or str."""
    if isinstance(value, np.ndarray | np.generic):
        return value.shape, value.tobytes()
    data = value.encode() if isinstance(value, str) else bytes(value)
    return (len(data),), data


def main() -> None:
    """Print a cache as a program under test prints it."""
    parser = argparse.ArgumentParser(
        prog="python -m dsrt_format.conformance.reference",
        description="Print what the plain reader reads of a cache.",
    )
    parser.add_argument("cache", metavar="CACHE", help="the directory of the cache")
    path = parser.parse_args().cache
    try:
        reader = ReferenceReader(path)
    except FormatError as error:
        print(json.dumps({"rule": error.rule, "message": error.message}))
        return
    print(json.dumps({"samples": len(reader), "cache_id": reader.cache_id}))
    for field in Manifest.load(path).fields:
        for sample in range(len(reader)):
            shape, data = reader.record(field.name, sample)
            print(json.dumps({"field": field.name, "sample": sample, "shape": shape, "hex": data.hex()}))
    for name in read_columns(path):
        values = [None if value is None else value.hex() for value in reader.column(name)]
        print(json.dumps({"column": name, "values": values}))


if __name__ == "__main__":
    main()
