"""One reader before one vector: everything in which its answers differ from what is expected."""

from collections.abc import Iterator
from typing import Any

from dsrt_format.conformance.expectation import (
    Column,
    Expected,
    Record,
    Records,
    StoredRecord,
    column_digest,
    field_digest,
)
from dsrt_format.conformance.reader import CacheReader, HasDigests, OpenCache

__all__ = ["differences"]

_SHOWN = 24


def differences(path: str, expected: Expected, open_cache: OpenCache) -> Iterator[str]:
    """Yield a message for each difference; none means that the reader conforms here.

    Args:
        path: The directory of the cache.
        expected: What must come out of it.
        open_cache: Opens it with the reader in question.
    """
    yield from _Comparison(expected).run(path, open_cache)


class _Comparison:
    def __init__(self, expected: Expected) -> None:
        self._expected = expected
        must = expected.get("refused_by") == "reader"
        self._rules = expected.get("rules", []) if must else expected.get("may_refuse", [])
        self._at_open = must and expected.get("step") == "open"

    def run(self, path: str, open_cache: OpenCache) -> Iterator[str]:
        try:
            reader = open_cache(path)
        except Exception as error:
            yield from self._objections("the cache", error)
            return
        if self._at_open:
            yield f"the cache was opened; it must be refused with {self._words()}"
            return
        samples = self._expected["samples"]
        try:
            found = len(reader)
        except Exception as error:
            yield from self._objections("the number of samples", error)
            return
        if found != samples:
            yield f"{found} samples, expected {samples}"
            return
        yield from self._check_cache_id(reader)
        for name, records in self._expected.get("fields", {}).items():
            yield from self._check_field(reader, name, records)
        for name, column in self._expected.get("columns", {}).items():
            yield from self._check_column(reader, name, column)

    def _check_cache_id(self, reader: CacheReader) -> Iterator[str]:
        """Compare the id where it is known and the reader gives one, which it need not."""
        try:
            found = getattr(reader, "cache_id", None)
        except Exception as error:
            yield from self._objections("the cache_id", error)
            return
        expected = self._expected.get("cache_id", found)
        if found is not None and found != expected:
            yield f"the cache_id is {found!r:.80}, expected {expected}"

    def _check_field(self, reader: CacheReader, name: str, expected: Records) -> Iterator[str]:
        where = f"field {name!r}"
        try:
            whole = reader.field_digest(name) if isinstance(reader, HasDigests) else None
            if whole is None and "records" not in expected:
                samples = range(self._expected["samples"])
                whole = field_digest(_plain(reader.record(name, sample)) for sample in samples)
        except Exception as error:
            yield from self._objections(where, error)
            return
        if whole is None:
            yield from self._check_records(reader, name, expected["records"])
            return
        if "records" not in expected:
            yield from _unequal(where, whole, expected["blake3"])
        elif None in (wanted := [_record(item) for item in expected["records"]]):
            yield f"{where} was read; some of its records must be refused with {self._words()}"
        else:
            yield from _unequal(where, whole, field_digest(filter(None, wanted)))

    def _check_records(
        self, reader: CacheReader, name: str, expected: list[StoredRecord | None]
    ) -> Iterator[str]:
        for sample, item in enumerate(expected):
            place, record = f"field {name!r}, sample {sample},", _record(item)
            try:
                answer = _plain(reader.record(name, sample))
            except Exception as error:
                yield from self._objections(place, error)
                continue
            if record is None:
                yield f"{place} was read as {_shown(answer)}; it must be refused with {self._words()}"
            elif answer != record:
                yield f"{place} is {_shown(answer)}, expected {_shown(record)}{_first(answer[1], record[1])}"

    def _check_column(self, reader: CacheReader, name: str, expected: Column | None) -> Iterator[str]:
        where = f"column {name!r}"
        values: list[bytes | None] = []
        try:
            whole = reader.column_digest(name) if isinstance(reader, HasDigests) else None
            if whole is None:
                values = [_bytes(value) for value in reader.column(name)]
        except Exception as error:
            yield from self._objections(where, error)
            return
        if expected is None:
            yield f"{where} was read; it must be refused with {self._words()}"
        elif "values" not in expected:
            yield from _unequal(where, whole or column_digest(values), expected["blake3"])
        else:
            wanted = [_unhex(value) for value in expected["values"]]
            if whole is not None:
                yield from _unequal(where, whole, column_digest(wanted))
                return
            if len(values) != len(wanted):
                yield f"{where} has {len(values)} values, expected {len(wanted)}"
            for row, (value, right) in enumerate(zip(values, wanted, strict=False)):
                if value != right:
                    yield f"{where}, row {row}, is {_hex(value)}, expected {_hex(right)}"

    def _objections(self, where: str, error: Exception) -> Iterator[str]:
        rule = getattr(error, "rule", None)
        if rule in self._rules:
            return
        what = f"{type(error).__name__}: {error}"[:300] if rule is None else f"{rule} ({error})"[:300]
        expected = f"only {self._words()} may be" if self._rules else "it must be read"
        yield f"{where} was refused with {what}; {expected}"

    def _words(self) -> str:
        return " or ".join(self._rules)


def _unequal(where: str, found: str, expected: str) -> Iterator[str]:
    if found != expected:
        yield f"{where} has the digest {found}, expected {expected}"


def _record(item: Any) -> Record | None:
    return None if item is None else (tuple(item["shape"]), bytes.fromhex(item["hex"]))


def _plain(answer: Any) -> Record:
    shape, data = answer
    return tuple(int(axis) for axis in shape), bytes(data)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _unhex(value: str | None) -> bytes | None:
    return None if value is None else bytes.fromhex(value)


def _hex(data: bytes | None) -> str:
    if data is None:
        return "null"
    return f"{data[:_SHOWN].hex() or 'nothing'}{'…' if len(data) > _SHOWN else ''} ({len(data)} bytes)"


def _shown(record: Record) -> str:
    return f"shape {list(record[0])!r:.80} {_hex(record[1])}"


def _first(found: bytes, expected: bytes) -> str:
    """Say where two long records first differ."""
    at = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), None)
    return "" if at is None or at < _SHOWN else f", differing from byte {at} on"
