"""Bad names and numbers of fields, in caches without samples, which need no files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rules.forge import Cache, Field
from tests.vectors.model import Bad, place

VECTORS: list[Bad] = []


def add(rule: str, name: str, make: Callable[[], Cache], problem: dict[str, Any]) -> None:
    VECTORS.append(Bad(rule, name, f"{name[0].upper()}{name[1:]}.", make, [problem], "open"))


def fields_named(*names: str, cache: str = "bad") -> Callable[[], Cache]:
    """A cache without samples, which has no files, so that names can be anything."""

    def make() -> Cache:
        made = Cache(name=cache, fields=[Field("x", "dense", "uint8") for _ in names])
        made.edit_manifest = lambda values: (
            [item.update(name=name) for item, name in zip(values["fields"], names, strict=True)] and None
        )
        return made

    return make


CACHE_NAMES = {
    "empty": "",
    "of 64 letters": "a" * 64,
    "with a dot": "a.b",
    "beginning with a hyphen": "-a",
    "with a slash": "a/b",
    "dot dot": "..",
    "ending in a newline": "a\n",
    "with a letter outside ASCII": "größe",
    "with a NUL": "a\0",
    "NUL, which Windows reserves": "NUL",
    "com0": "com0",
}
FIELD_NAMES = {
    "empty": "",
    "of 64 letters": "a" * 64,
    "with a blank": "a b",
    "with a backslash": "a\\b",
    "dot": ".",
    "dot dot": "..",
    "leading out of the cache": "../../x",
    "with a digit outside ASCII": "a\u0661",
    "with a NUL": "a\0",
    "Aux, which Windows reserves": "Aux",
    "lpt1": "lpt1",
    "cache_id": "cache_id",
    "sample_id": "sample_id",
    "weight": "weight",
    "with an underscore first": "_x",
}
for label, name in CACHE_NAMES.items():
    add("R007", f"cache name {label}", fields_named("x", cache=name), place("R007"))
for label, name in FIELD_NAMES.items():
    add("R007", f"field name {label}", fields_named(name), place("R007", name))
add("R008", "two fields differ in case only", fields_named("rag", "RAG"), place("R008", "RAG"))
add("R008", "one letter differs in case", fields_named("ab", "c", "aB"), place("R008", "aB"))
add("R008", "a field twice", fields_named("x", "x"), place("R008", "x"))
add("R013", "no fields", lambda: Cache(name="bad"), place("R013"))
add("R013", "257 fields", fields_named(*(f"f{number}" for number in range(257))), place("R013"))
