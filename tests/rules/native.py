"""dsrt_native behind the questions of `readers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

import dsrt_native
from dsrt_native.cache import Io

from .case import Case
from .readers import Attempts, bits, same, spoilt


def to_list(column: pa.ChunkedArray) -> list[Any]:
    """Python values, temporal ones as integers."""
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        column = column.cast(pa.int64())
    return [bits(value) for value in column.to_pylist()]


class Native:
    """dsrt_native; with `verify=False` record checksums are not compared and all else is."""

    def __init__(self, name: str, verify: bool = True, io: Io = "mmap") -> None:
        self.name = name
        self.verify = verify
        self.io: Io = io

    def open(self, path: Path, fields: list[str] | None = None) -> dsrt_native.Cache:
        return dsrt_native.Cache.open(path, fields=fields, verify=self.verify, io=self.io)

    def attempts(self, path: Path, case: Case) -> Attempts:
        """None where a record checksum is all that is wrong, and they are not to be compared."""
        return {} if case.rule == "R033" and not self.verify else self.all_attempts(path, case)

    def all_attempts(self, path: Path, case: Case) -> Attempts:
        if case.when == "open":
            return {"open": lambda: self.open(path)}
        cache = self.open(path)
        if case.when == "metadata":
            return self._metadata(cache, case.column)
        assert case.field is not None
        name, field = case.field, cache.fields[case.field]
        if case.when == "lengths":
            return {"lengths": field.lengths}
        sample = 0 if case.sample is None else case.sample
        alone = self.open(path, [name])
        return {
            "one record": lambda: field[sample],
            "one sample": lambda: alone[sample],
            "one record, counted from the end": lambda: field[sample - len(cache)],
            "a record in a list": lambda: field[[sample]],
            "all records": lambda: field[:],
            "all samples": lambda: alone[:],
            "a sample twice": lambda: alone[[sample, sample]],
            "iteration": lambda: list(alone),
            "gather": lambda: cache.population.gather(range(len(cache)), [name]),
            "again": lambda: field[sample],
        }

    def _metadata(self, cache: dsrt_native.Cache, column: str | None) -> Attempts:
        attempts: Attempts = {"table": lambda: cache.metadata, "table again": lambda: cache.metadata}
        if column is not None:
            # Row 1 is null, which a gather refuses for reasons of its own.
            rows = [row for row in (0, 2, 3, len(cache) - 1) if 0 <= row < len(cache)]
            attempts["gather"] = lambda: cache.population.gather(rows, [column])
        return attempts

    def spared(self, path: Path, case: Case) -> None:
        if case.when == "open":
            return
        forged = case.make()
        if case.when == "metadata":
            # Metadata is not looked at for the sake of payload.
            names = [item.name for item in forged.fields]
            self.open(path, names)[:3]
            if forged.counts:
                self.open(path, names)[0]
                self.open(path).fields[names[0]][0]
            return
        cache = self.open(path)
        for item in forged.fields:
            spared = set(range(len(cache)))
            if case.when == "read" and item.name == case.field:
                spared -= spoilt(case)
            for sample in spared:
                found = cache.fields[item.name][sample]
                assert same(found, item.values[sample], item), (item.name, sample, found)

    def fields(self, path: Path) -> dict[str, list[Any]]:
        cache = self.open(path)
        if len(cache) > 1000:
            return {name: list(field[:]) for name, field in cache.fields.items()}
        return {name: [field[i] for i in range(len(cache))] for name, field in cache.fields.items()}

    def columns(self, path: Path) -> dict[str, list[Any]]:
        table = self.open(path).metadata
        return {name: to_list(table[name]) for name in table.column_names}
