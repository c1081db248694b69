"""Which names caches, fields and metadata columns may have. Each function returns why not, or None."""

import re
from collections.abc import Container

__all__ = ["cache_name_problem", "column_name_problem", "field_name_problem"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}")
# Windows opens a device for these, whatever the directory and the case.
_DEVICE = re.compile(r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])")


def cache_name_problem(name: str) -> str | None:
    """Say why `name` cannot be the name of a cache, or return None if it can."""
    if not _NAME.fullmatch(name):
        return "a name has 1 to 63 of the letters A-Z a-z 0-9 _ - and does not begin with -"
    if _DEVICE.fullmatch(name):
        return "con, prn, aux, nul, com0-9 and lpt0-9 are names of devices on Windows"
    return None


def field_name_problem(name: str) -> str | None:
    """Say why `name` cannot be the name of a payload field, or return None if it can."""
    if (problem := cache_name_problem(name)) is not None:
        return problem
    if name.startswith("_"):
        return "names that begin with _ are reserved"
    if name in ("cache_id", "sample_id", "weight"):
        return "cache_id, sample_id and weight are names of metadata"
    return None


def column_name_problem(name: str, fields: Container[str]) -> str | None:
    """Say why `name` cannot be the name of a metadata column beside `fields`, or return None if it can."""
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        return "the name holds a lone surrogate, which UTF-8 cannot express"
    if not 1 <= length <= 255:
        return f"a column name has 1 to 255 bytes of UTF-8, this has {length}"
    if "\0" in name:
        return "the name holds U+0000, which Arrow's C interface cannot carry"
    if name.startswith("_"):
        return "names that begin with _ are reserved"
    if name in ("cache_id", "sample_id"):
        return "cache_id and sample_id are added by readers"
    if name in fields:
        return "a payload field has this name"
    return None
