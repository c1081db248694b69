"""A table: tiny samples, and beside each what people filter and weigh by, a number and a name of its own."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer import Cannot, Peer, Row, check_stream, optional
from benchmarks.workload import Workload
from benchmarks.workloads.records import TINY

TABLE = replace(TINY, name="table", title="a table: 64 B, a number and a name a row", smoke_samples=10_000)

_CHECKED = 1024
_LISTED = "to_pylist", "to_list", "tolist"
"""The method for it of Arrow, Polars and NumPy."""


def metadata(number: int) -> dict[str, int | str]:
    """Of one row."""
    return {"number": number, "label": f"a name of its own for sample {number}"}


def rows(workload: Workload) -> Iterator[Row]:
    """All rows in order."""
    for number, sample in enumerate(workload.all()):
        yield sample, metadata(number)


def check(peer: Peer, workload: Workload, folder: Path) -> None:
    """Read samples from all over and all metadata.

    Raises:
        Cannot: The system has no metadata.
        ValueError: What is read is not what was written.
    """
    handle = peer.open(workload, folder)
    some = np.linspace(0, workload.samples - 1, min(_CHECKED, workload.samples)).astype(np.int64)
    try:
        found = peer.gather(handle, some)
    except Cannot:
        check_stream(peer, workload, handle)
    else:
        if workload.check(found) != some.tolist():
            raise ValueError("gather gave other samples than asked for")
    written = [metadata(number) for number in range(workload.samples)]
    columns = {name: listed(column) for name, column in optional(peer, "metadata")(folder).items()}
    if columns != {name: [each[name] for each in written] for name in written[0]}:
        raise ValueError("the metadata are not what was written")


def listed(column: Any) -> list[Any]:
    """All values of a column, whatever it is."""
    method = next((getattr(column, name) for name in _LISTED if hasattr(column, name)), None)
    return list(method() if method else column)
