"""Whether what a writer is given can be a cache at all: names, fields, columns, attributes."""

import json
from collections.abc import Container, Mapping
from typing import Any

from dsrt_format.columns import COLUMN_TYPES
from dsrt_format.errors import SchemaError
from dsrt_format.fields import Bytes, Dense, FieldSpec, Ragged, Text
from dsrt_format.manifest_limits import MAX_FIELDS
from dsrt_format.names import cache_name_problem, column_name_problem, field_name_problem
from dsrt_format.rules import Violation
from dsrt_format.strict_json import parse

__all__ = ["check_attributes", "check_columns", "check_fields", "check_fingerprint", "check_name"]


def check_name(name: str) -> None:
    """Raise SchemaError unless a cache can have this name."""
    if (problem := cache_name_problem(name)) is not None:
        raise SchemaError(f"a cache cannot have the name {name!r}: {problem}")


def check_fingerprint(fingerprint: str | None) -> str | None:
    """Return the fingerprint of a cache.

    Raises:
        SchemaError: It holds a lone surrogate.
        TypeError: It is neither str nor None.
    """
    if fingerprint is not None and not isinstance(fingerprint, str):
        raise TypeError(
            f"fingerprint: expected str or None, not {fingerprint!r}; see dsrt_format.fingerprint"
        )
    try:
        (fingerprint or "").encode()
    except UnicodeEncodeError:
        raise SchemaError("the fingerprint holds a lone surrogate, which UTF-8 cannot express") from None
    return fingerprint


def check_fields(fields: Mapping[str, FieldSpec]) -> None:
    """Check the payload fields of a cache.

    Raises:
        SchemaError: There are none or more than 256, or a name is not legal.
        TypeError: A spec is of another type, or `fields` is no mapping.
    """
    if not isinstance(fields, Mapping):
        raise TypeError(f"fields: expected a mapping of names to specs, not {type(fields).__name__}")
    if not 1 <= len(fields) <= MAX_FIELDS:
        raise SchemaError(f"{len(fields)} fields: a cache has 1 to {MAX_FIELDS}")
    seen: dict[str, str] = {}
    for name, spec in fields.items():
        if not isinstance(name, str) or not isinstance(spec, Dense | Ragged | Bytes | Text):
            raise TypeError(f"field {name!r}: expected Dense, Ragged, Bytes or Text, not {spec!r}")
        if (problem := field_name_problem(name)) is not None:
            raise SchemaError(f"a field cannot have the name {name!r}: {problem}")
        if (twin := seen.setdefault(name.lower(), name)) != name:
            raise SchemaError(f"the fields {twin!r} and {name!r} differ only in the case of letters")


def check_columns(columns: Mapping[str, str], fields: Container[str]) -> None:
    """Check the metadata columns of a cache.

    Raises:
        SchemaError: A name or type is not legal.
        TypeError: A name or type is no str, or `columns` is no mapping.
    """
    if not isinstance(columns, Mapping):
        raise TypeError(f"metadata: expected a mapping of names to types, not {type(columns).__name__}")
    for name, word in columns.items():
        if not isinstance(name, str) or not isinstance(word, str):
            raise TypeError(f"metadata column {name!r}: expected the name of a type, not {word!r}")
        if (problem := column_name_problem(name, fields)) is not None:
            raise SchemaError(f"a metadata column cannot have the name {name!r}: {problem}")
        if word not in COLUMN_TYPES:
            raise SchemaError(
                f"metadata column {name!r}: unknown type {word!r}; the types are {', '.join(COLUMN_TYPES)}"
            )
        if name == "weight" and word != "float64":
            raise SchemaError(f"the metadata column 'weight' has the type {word!r}; it is float64")


def check_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a cache as the manifest will hold them.

    Raises:
        SchemaError: They are not what strict JSON keeps as it is.
        TypeError: They are no mapping.
    """
    if not isinstance(attributes, Mapping):
        raise TypeError(f"attributes: expected a mapping, not {attributes!r:.80}")
    given = dict(attributes)
    try:
        # One level more, as in the manifest.
        found: dict[str, Any] = parse(json.dumps([given], ensure_ascii=False, allow_nan=False).encode())[0]
    except (TypeError, ValueError, RecursionError, Violation) as error:
        raise SchemaError(f"attributes cannot be stored as JSON: {error}") from None
    if found != given:
        raise SchemaError(
            "attributes would not come back from JSON as they are: use dicts with str keys, lists, str, int, "
            "float, bool and None only"
        )
    # What came back, so that nobody changes it before the manifest is written.
    return found
