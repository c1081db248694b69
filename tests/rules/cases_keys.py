"""R006: exactly the known keys, of the right types, in the right form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .case import Table, manifest, swap

TABLE = Table("open")
Entry = dict[str, Any]
FIXED, INDEXED, DICTIONARY = "dense", "rag", "tokens"


def field_of(values: Entry, name: str) -> Entry:
    found: Entry = next(item for item in values["fields"] if item["name"] == name)
    return found


def add_field(rule: str, name: str, of: str, edit: Callable[[Entry], object], **where: Any) -> None:
    """A case that changes what the manifest says of one field."""
    TABLE.add(rule, name, manifest(lambda values: edit(field_of(values, of))), **where)


# Every key of every object: left out, and with each wrong type. `null` is right for two keys only.
TOP = {
    "attributes": {},
    "fields": [],
    "fingerprint": "",
    "metadata": {},
    "name": "",
    "samples": 0,
    "shards": [],
}
NULLABLE = {"fingerprint", "metadata"}
WRONG = {"null": None, "true": True, "int": 1, "str": "x", "list": [], "object": {}, "float": 1.5}


def kind_of(value: object) -> str:
    return {int: "int", str: "str", list: "list", dict: "object"}[type(value)]


def wrong_for(key: str, right: str) -> dict[str, object]:
    nullable = key in NULLABLE
    return {
        name: value for name, value in WRONG.items() if name != right and not (nullable and value is None)
    }


def set_key(holder: Callable[[Entry], Entry], key: str, value: object) -> Callable[[Entry], None]:
    return lambda values: holder(values).update({key: value})


def without(holder: Callable[[Entry], Entry], key: str) -> Callable[[Entry], object]:
    return lambda values: holder(values).pop(key)


def add_object(label: str, holder: Callable[[Entry], Entry], keys: dict[str, object]) -> None:
    """Cases for an object with exactly these keys: one missing, one of each wrong type, one too many."""
    TABLE.add("R006", f"{label} with an unknown key", manifest(set_key(holder, "extra", 1)))
    for key, right in keys.items():
        TABLE.add("R006", f"{label} without {key}", manifest(without(holder, key)))
        for name, value in wrong_for(key, kind_of(right)).items():
            TABLE.add("R006", f"{label}, {key} {name}", manifest(set_key(holder, key, value)))


add_object("manifest", lambda values: values, TOP)
add_object("metadata", lambda values: values["metadata"], {"bytes": 1, "chunks": []})
COMMON: dict[str, object] = {"name": "", "kind": "", "dtype": "", "codec": "", "files": []}
add_object("dense field", lambda values: field_of(values, FIXED), COMMON | {"shape": []})
add_object("ragged field", lambda values: field_of(values, INDEXED), COMMON | {"ndim": 1})
add_object("zstd-dict field", lambda values: field_of(values, DICTIONARY), {"dictionary": {}})
add_object(
    "dictionary",
    lambda values: field_of(values, DICTIONARY)["dictionary"],
    {"bytes": 1, "body_blake3": ""},
)
add_object("fixed file", lambda values: field_of(values, FIXED)["files"][1], {"bytes": 1, "body_blake3": ""})
add_object(
    "indexed file",
    lambda values: field_of(values, INDEXED)["files"][1],
    {"bytes": 1, "body_blake3": "", "index_blake3": ""},
)

for name, value in wrong_for("delta", "int").items():
    add_field("R006", f"delta {name}", "grid", lambda entry, value=value: entry.update(delta=value))


def set_first(items: Callable[[Entry], list[Any]], value: object) -> Callable[[Entry], None]:
    return lambda values: items(values).__setitem__(0, value)


LISTS: dict[str, tuple[str, Callable[[Entry], list[Any]]]] = {
    "shards": ("int", lambda values: values["shards"]),
    "fields": ("object", lambda values: values["fields"]),
    "chunks": ("str", lambda values: values["metadata"]["chunks"]),
    "files": ("object", lambda values: field_of(values, FIXED)["files"]),
    "shape": ("int", lambda values: field_of(values, FIXED)["shape"]),
}
for label, (right, items) in LISTS.items():
    for name, value in WRONG.items():
        if name != right:
            TABLE.add("R006", f"{label} of {name}", manifest(set_first(items, value)))

# Keys that belong to another kind or codec.
for name, of, extra in (
    ("shape in a ragged field", INDEXED, {"shape": [2]}),
    ("shape in a bytes field", "jpeg", {"shape": []}),
    ("ndim in a dense field", FIXED, {"ndim": 1}),
    ("ndim in a text field", "title", {"ndim": 1}),
    ("dictionary with codec raw", INDEXED, {"dictionary": {"bytes": 128, "body_blake3": "0" * 64}}),
    ("dictionary with codec zstd", "feat", {"dictionary": {"bytes": 128, "body_blake3": "0" * 64}}),
    ("dictionary null", "feat", {"dictionary": None}),
    ("delta null with codec raw", INDEXED, {"delta": None}),
):
    add_field("R006", name, of, lambda entry, extra=extra: entry.update(extra))
add_field(
    "R006",
    "index_blake3 of a fixed shard",
    FIXED,
    lambda entry: entry["files"][0].update(index_blake3="0" * 64),
)

# The form of hex, wherever it stands.
HEX: dict[str, Callable[[Entry, str], object]] = {
    "chunk": lambda values, digest: values["metadata"]["chunks"].__setitem__(0, digest),
    "dictionary digest": lambda values, digest: field_of(values, DICTIONARY)["dictionary"].update(
        body_blake3=digest
    ),
    "body digest": lambda values, digest: field_of(values, FIXED)["files"][0].update(body_blake3=digest),
    "index digest": lambda values, digest: field_of(values, INDEXED)["files"][0].update(index_blake3=digest),
}
FORMS = {
    "in upper case": "A" * 64,
    "63 digits": "0" * 63,
    "65 digits": "0" * 65,
    "empty": "",
    "not hex": "g" + "0" * 63,
    "with a prefix": "0x" + "0" * 62,
    "with a newline": "0" * 64 + "\n",
    "of other digits": "\u0661" * 64,
}
for label, change in HEX.items():
    for name, digest in FORMS.items():
        TABLE.add("R006", f"{label} {name}", manifest(lambda values, c=change, d=digest: c(values, d)))

for name, new in {
    "float 5.0": '"samples":5.0',
    "float 5e0": '"samples":5e0',
    "float 5E+0": '"samples":5E+0',
    "small float": '"samples":1e-400',
}.items():
    TABLE.add("R006", f"samples a {name}", swap('"samples":5', new))
TABLE.add("R006", "shards with a float", swap('"shards":[3,2]', '"shards":[3.0,2]'))
TABLE.add("R006", "unknown key with an empty name", manifest(lambda values: values.update({"": 1})))
TABLE.add("R006", "unknown key in other case", manifest(lambda values: values.update(Name="good")))
TABLE.add("R006", "key with a blank", manifest(lambda values: values.update({"name ": values.pop("name")})))
