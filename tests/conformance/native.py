"""dsrt_native behind the questions of `dsrt_format.conformance`."""

from __future__ import annotations

from typing import Any, Literal

import dsrt_native
from dsrt_format.conformance.arrow_bits import column_bits
from dsrt_format.conformance.reference import record_of

Record = tuple[tuple[int, ...], bytes]


class NativeReader:
    """Each record read alone, from the mapped file or by pread."""

    def __init__(self, path: str, io: Literal["mmap", "pread"] = "mmap", verify: bool = True) -> None:
        self._cache = dsrt_native.Cache.open(path, io=io, verify=verify)
        self.cache_id = self._cache.cache_id

    def __len__(self) -> int:
        return len(self._cache)

    def record(self, field: str, sample: int) -> Record:
        return record_of(self._cache.fields[field][sample])

    def column(self, name: str) -> list[bytes | None]:
        return column_bits(self._cache.metadata[name])


class BatchReader(NativeReader):
    """Each record taken from a batch of all samples, as a loader gathers them."""

    def __init__(self, path: str, io: Literal["mmap", "pread"] = "mmap") -> None:
        super().__init__(path, io)
        self._batches: dict[str, Any] = {}

    def record(self, field: str, sample: int) -> Record:
        if field not in self._batches:
            found = self._cache.population.gather(range(len(self)), [field])[field]
            self._batches[field] = found.to_list() if isinstance(found, dsrt_native.RaggedArray) else found
        return record_of(self._batches[field][sample])
