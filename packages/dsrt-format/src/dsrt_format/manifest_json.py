"""The manifest as JSON: its own digest, and that it has exactly the known keys with the right types."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from dsrt_format.checksum import blake3_digest
from dsrt_format.rules import Violation
from dsrt_format.strict_json import parse

__all__ = ["CODECS", "KINDS", "parse_manifest"]

KINDS = ("dense", "ragged", "bytes", "text")
CODECS = ("raw", "zstd", "zstd-dict")

_PREFIX = re.compile(rb'\{"digest":"([0-9a-f]{64})",')
_HEX = re.compile(r"[0-9a-f]{64}")

Check = Callable[[Any, str], None]


def parse_manifest(data: bytes) -> dict[str, Any]:
    """Return the manifest as JSON values, once R002 to R006 hold.

    Raises:
        Violation: One of those rules.
    """
    prefix = _PREFIX.match(data)
    if prefix is None:
        raise Violation(
            "R002", "manifest.json does not begin with its digest; this is no manifest of a cache"
        )
    if blake3_digest(b"{" + data[prefix.end() :]).hex().encode() != prefix[1]:
        raise Violation("R003", "manifest.json does not match its own digest; it is damaged or was edited")
    value = parse(data)
    if "format" not in value:
        raise Violation("R005", "the manifest does not say the version of its format")
    if type(value["format"]) is not int or value["format"] != 1:
        raise Violation(
            "R005",
            f"the cache has format version {value['format']!r:.40}, this release reads version 1; "
            "upgrade DSRT",
        )
    _MANIFEST(value, "the manifest")
    return dict(value)


def _refuse(where: str, what: str) -> Violation:
    return Violation("R006", f"{where}: {what}")


def _int(value: Any, where: str) -> None:
    if type(value) is not int:
        raise _refuse(where, f"expected an int, found {value!r:.40}")


def _str(value: Any, where: str) -> None:
    if type(value) is not str:
        raise _refuse(where, f"expected a string, found {value!r:.40}")


def _hex(value: Any, where: str) -> None:
    if type(value) is not str or not _HEX.fullmatch(value):
        raise _refuse(where, f"expected 64 lower-case hex digits, found {value!r:.40}")


def _any_object(value: Any, where: str) -> None:
    if type(value) is not dict:
        raise _refuse(where, f"expected an object, found {value!r:.40}")


def _nullable(check: Check) -> Check:
    def checked(value: Any, where: str) -> None:
        if value is not None:
            check(value, where)

    return checked


def _list_of(check: Check) -> Check:
    def checked(value: Any, where: str) -> None:
        if type(value) is not list:
            raise _refuse(where, f"expected a list, found {value!r:.40}")
        for i, item in enumerate(value):
            check(item, f"{where}[{i}]")

    return checked


def _object(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    known = {**required, **(optional or {})}

    def checked(value: Any, where: str) -> None:
        _any_object(value, where)
        for key in required:
            if key not in value:
                raise _refuse(where, f"the key {key!r} is missing")
        for key, item in value.items():
            if key not in known:
                raise _refuse(where, f"the key {key!r:.80} is not known here")
            known[key](item, f"{where}.{key}")

    return checked


def _field(value: Any, where: str) -> None:
    """Check a field. Which keys belong to it depends on its kind and codec, as far as those are known."""
    _any_object(value, where)
    kind, codec = value.get("kind"), value.get("codec")
    required: dict[str, Check] = {"name": _str, "kind": _str, "dtype": _str, "codec": _str}
    optional: dict[str, Check] = {"delta": _int}
    file: dict[str, Check] = {"bytes": _int, "body_blake3": _hex}
    file_optional: dict[str, Check] = {}
    by_kind: dict[str, Check] = {"shape": _list_of(_int), "ndim": _int}
    dictionary = _object({"bytes": _int, "body_blake3": _hex})
    if kind == "dense":
        required["shape"] = by_kind["shape"]
    elif kind == "ragged":
        required["ndim"] = by_kind["ndim"]
    elif kind not in KINDS:
        optional.update(by_kind)
    if codec == "zstd-dict":
        required["dictionary"] = dictionary
    elif codec not in CODECS:
        optional["dictionary"] = dictionary
    if kind not in KINDS or codec not in CODECS:
        file_optional["index_blake3"] = _hex
    elif kind != "dense" or codec != "raw":
        file["index_blake3"] = _hex
    required["files"] = _list_of(_object(file, file_optional))
    _object(required, optional)(value, where)


_MANIFEST = _object(
    {
        "digest": _str,
        "name": _str,
        "fingerprint": _nullable(_str),
        "format": _int,
        "samples": _int,
        "shards": _list_of(_int),
        "attributes": _any_object,
        "metadata": _nullable(_object({"bytes": _int, "chunks": _list_of(_hex)})),
        "fields": _list_of(_field),
    }
)
