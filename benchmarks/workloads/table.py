"""A table: tiny samples, and beside each what people filter and weigh by, a number and a name of its own."""

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.peer import Row
from benchmarks.workload import Workload
from benchmarks.workloads.records import TINY

TABLE = replace(TINY, name="table", title="a table: 64 B, a number and a name a row", smoke_samples=10_000)


def metadata(number: int) -> dict[str, int | str]:
    """Of one row."""
    return {"number": number, "label": f"a name of its own for sample {number}"}


def rows(workload: Workload) -> Iterator[Row]:
    """All rows in order."""
    for number, sample in enumerate(workload.all()):
        yield sample, metadata(number)
