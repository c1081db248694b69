"""Caches that break a rule: chosen from the forged cases, and those of tests.vectors.own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tests.rules.case import Case
from tests.rules.cases import CASES
from tests.rules.forge import Cache
from tests.rules.goods import empty, main
from tests.vectors import chosen_files, chosen_manifest, chosen_metadata, own, places
from tests.vectors.model import Bad

_BY_ID = {case.id: case for case in CASES}


def smaller(case: Case, base: Callable[[], Cache], keep: list[str]) -> Cache:
    """The broken cache with a few of its fields."""
    cache = base()
    case.edit(cache)
    if "metadata" not in keep:
        cache.metadata, cache.columns, cache.types = None, {}, {}
    kept = [item for item in cache.fields if item.name in keep]
    # What a case says of its fields alone may be that there are none, or new ones.
    cache.fields = kept if kept or not keep else cache.fields
    return cache


def _vectors() -> list[Bad]:
    found = []
    one_shard = functools.partial(main, (5,))
    for table, base in (
        (chosen_manifest.CHOSEN_EMPTY, empty),
        (chosen_manifest.CHOSEN, None),
        (chosen_files.CHOSEN, None),
        (chosen_metadata.CHOSEN, one_shard),
    ):
        for rule, names in table.items():
            for line in names:
                name, _, kept = line.partition(" | ")
                case = _BY_ID[f"{rule} {name}"]
                keep = kept.split(", ") if kept else [case.field] if case.field else ["x"]
                if table is chosen_metadata.CHOSEN:
                    keep = [kept or "half", "metadata"]
                found.append(_bad(case, functools.partial(smaller, case, base or case.base, keep)))
    return found


def _bad(case: Case, make: Callable[[], Cache]) -> Bad:
    step = {"open": "open", "lengths": None}.get(case.when, "read")
    problems: list[dict[str, Any]] = places.of(case)
    may_refuse = ["R039"] if case.when == "lengths" else []
    return Bad(case.rule, case.name, _sentence(case), make, problems, step, may_refuse)


def _sentence(case: Case) -> str:
    name = case.name[0].upper() + case.name[1:]
    where = [
        f"{word} {value}"
        for word, value in (("field", case.field), ("shard", case.shard), ("sample", case.sample))
        if value is not None
    ]
    return f"{name} ({', '.join(where)})." if where else f"{name}."


VECTORS: list[Bad] = [*_vectors(), *own.VECTORS]
