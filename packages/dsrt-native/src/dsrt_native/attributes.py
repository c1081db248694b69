"""Attributes of a cache: free JSON, exact and portable."""

import json
import math
from collections.abc import Mapping
from typing import Any

from dsrt_format import SchemaError

__all__ = ["attributes_json"]

# The manifest is one level, and attributes the second.
_MAX_DEPTH = 63


def attributes_json(attributes: Mapping[str, Any]) -> bytes:
    """Return attributes as JSON text, if that keeps them exactly.

    Args:
        attributes: Keys are str; values None, bool, int within ±(2^63 - 1), finite float, str, and lists and
            dicts of these. A tuple becomes a list.

    Raises:
        SchemaError: Anything else is in it; the message says where.
    """
    if not isinstance(attributes, Mapping):
        raise TypeError(f"attributes: expected a dict, not {type(attributes).__name__}")
    _check(attributes, "attributes", 1)
    return json.dumps(dict(attributes), ensure_ascii=False, allow_nan=False).encode()


def _check(value: Any, place: str, depth: int) -> None:
    if depth > _MAX_DEPTH and isinstance(value, Mapping | list | tuple):
        raise SchemaError(f"{place}: nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        for key, item in value.items():
            if type(key) is not str:
                raise SchemaError(f"{place}: the key {key!r} is no str")
            _check(key, f"a key of {place}", depth)
            _check(item, f"{place}[{key!r}]", depth + 1)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check(item, f"{place}[{number}]", depth + 1)
    elif type(value) is str:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise SchemaError(f"{place}: a lone surrogate, which UTF-8 cannot express") from error
    elif type(value) is int:
        if abs(value) >= 2**63:
            raise SchemaError(f"{place}: {value} is beyond ±(2^63 - 1); store it as a str")
    elif type(value) is float:
        if not math.isfinite(value):
            raise SchemaError(f"{place}: {value} is not in JSON; store it as a str, or None")
    elif value is not None and type(value) is not bool:
        raise SchemaError(
            f"{place}: {type(value).__module__}.{type(value).__qualname__} is not in JSON; use None, bool, "
            "int, float, str, lists and dicts of these"
        )
