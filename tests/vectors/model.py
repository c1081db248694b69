"""A vector as its tables describe it, and the bytes and expectations that follow from the forged cache."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dsrt_format.conformance.expectation import Records, field_digest, stored
from tests.rules.arrow_columns import TYPES, ZONED, Type
from tests.rules.forge import Cache, Field

LONG = 64 << 10  # what has more bytes than this is expected by its digest
WORDS = {"utf8_view": "string", "binary_view": "binary", "date32": "date"}
FILE_RULES = ("R030", "R031", "R039", "R050", "R051")


@dataclass(frozen=True)
class Good:
    """A cache that everybody must read."""

    name: str
    about: str
    make: Callable[[], Cache]


@dataclass(frozen=True)
class Bad:
    """A cache that breaks rules.

    Attributes:
        rule: The rule that it is for.
        name: What is broken, unique within the rule.
        about: The same in a sentence.
        make: Makes it.
        problems: What a validator reports, in order.
        step: Where a reader must refuse it at the latest, or None if only a validator objects.
        may_refuse: Rules that a reader may check, though it need not.
    """

    rule: str
    name: str
    about: str
    make: Callable[[], Cache]
    problems: list[dict[str, Any]]
    step: str | None
    may_refuse: list[str] = field(default_factory=list)


def slug(text: str) -> str:
    """A name for a directory."""
    text = re.sub(r"-(?=\d)", "minus ", text.replace("^", " to the "))
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def kind_of(rule: str) -> str:
    """What a problem of the rule is a problem of."""
    if rule < "R030":
        return "manifest"
    if rule in FILE_RULES:
        return "file"
    if rule == "R040":
        return "dictionary"
    if rule == "R053":
        return "unknown"
    return "record" if rule < "R040" or rule == "R052" else "metadata"


def place(
    rule: str, of: str | None = None, shard: int | None = None, sample: int | None = None
) -> dict[str, Any]:
    """One problem, as expected.json has it."""
    return {"rule": rule, "field": of, "shard": shard, "sample": sample, "kind": kind_of(rule)}


def files_of(cache: Cache) -> dict[str, bytes]:
    """The files of a cache by their paths inside of it; an empty directory leaves nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache"
        cache.write(path)
        found = (file for file in sorted(path.rglob("*")) if file.is_file())
        return {file.relative_to(path).as_posix(): file.read_bytes() for file in found}


def record_of(value: Any) -> tuple[tuple[int, ...], bytes]:
    """Shape and bytes of a forged value."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    content = value.encode() if isinstance(value, str) else value
    return (len(content),), content


def records_of(item: Field, spoilt: set[int]) -> Records:
    """What is expected of a field; None for each spoilt sample."""
    records = [record_of(value) for value in item.values]
    if not spoilt and sum(len(content) for _, content in records) > LONG:
        return {"blake3": field_digest(records)}
    return stored(None if sample in spoilt else record for sample, record in enumerate(records))


def bits_of(kind: Type, value: Any) -> str | None:
    """A metadata value as hex of its little-endian bits."""
    if value is None:
        return None
    if kind.storage == "view":
        return (value.encode() if isinstance(value, str) else value).hex()
    if kind.storage == "bits":
        return "01" if value else "00"
    return np.array(value, kind.storage).tobytes().hex()


def column_of(kind: Type, values: list[Any]) -> dict[str, Any]:
    """What is expected of a column."""
    types = TYPES | ZONED
    name = next(
        name for name, known in types.items() if (known.number, known.slots) == (kind.number, kind.slots)
    )
    return {"type": WORDS.get(name, name), "values": [bits_of(kind, value) for value in values]}


def spoilt(cache: Cache, of: str, problems: list[dict[str, Any]]) -> set[int]:
    """The samples of a field that a reader must refuse."""
    found: set[int] = set()
    first = 0
    for shard, count in enumerate(cache.counts):
        for problem in problems:
            if problem["field"] != of or problem["rule"] in ("R039", "R050", "R051", "R052", "R053"):
                continue
            if problem["rule"] == "R040" or (problem["kind"] == "file" and problem["shard"] in (None, shard)):
                found |= set(range(first, first + count))
            elif problem["sample"] is not None:
                found.add(problem["sample"])
        first += count
    return found


def expected_good(vector: Good, cache: Cache, files: dict[str, bytes]) -> dict[str, Any]:
    """expected.json of a good cache."""
    digest = json.loads(files["manifest.json"])["digest"]
    return {
        "about": vector.about,
        "samples": sum(cache.counts),
        "cache_id": int(digest[:16], 16) & (2**63 - 1),
        "fields": {item.name: records_of(item, set()) for item in cache.fields},
        "columns": {name: column_of(cache.types[name], values) for name, values in cache.columns.items()},
    }


def expected_bad(vector: Bad, cache: Cache) -> dict[str, Any]:
    """expected.json of a bad one."""
    found: dict[str, Any] = {
        "about": vector.about,
        "rules": sorted({problem["rule"] for problem in vector.problems}),
        "problems": vector.problems,
        "refused_by": "validator" if vector.step is None else "reader",
        "step": vector.step or "read",
    }
    if vector.may_refuse:
        found["may_refuse"] = vector.may_refuse
    if vector.step == "open":
        return found
    lost = any(problem["kind"] == "metadata" for problem in vector.problems)
    found["samples"] = sum(cache.counts)
    found["fields"] = {
        item.name: records_of(item, spoilt(cache, item.name, vector.problems)) for item in cache.fields
    }
    found["columns"] = {
        name: None if lost else column_of(cache.types[name], values) for name, values in cache.columns.items()
    }
    if (
        vector.step is not None
        and not lost
        and not any(None in item.get("records", []) for item in found["fields"].values())
    ):
        raise AssertionError(f"{vector.rule} {vector.name}: there is nothing that a reader must refuse")
    return found
