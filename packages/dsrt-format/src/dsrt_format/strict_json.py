"""RFC 8259 JSON as the manifest wants it: everything that parsers disagree about is refused (rule R004)."""

import json
import math
import re
from collections import Counter
from itertools import accumulate
from typing import Any, NoReturn

from dsrt_format.rules import Violation

__all__ = ["MAX_DEPTH", "MAX_INT", "parse"]

MAX_DEPTH = 64
"""Arrays and objects may nest so deep; the outermost is level 1."""

MAX_INT = 2**63 - 1

# Where a string begins this always matches, if need be to the end of the text, and gives nothing back: a
# pattern that failed on a string without end would be tried again at each quote inside it.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_ALL_ELSE = bytes(set(range(256)) - set(_STEPS))


def parse(data: bytes) -> Any:
    """Return the value of a JSON text: dict, list, str, int, float, bool or None.

    Refused are, at any depth: bytes that are not UTF-8, duplicate keys, the numbers -0, NaN and Infinity,
    integers beyond ±(2^63-1), numbers that do not round to a finite double, escapes of half a surrogate pair,
    and nesting deeper than 64.

    Raises:
        Violation: R004.
    """
    _check_depth(data)
    try:
        value = json.loads(
            data.decode(),
            object_pairs_hook=_object,
            parse_int=_int,
            parse_float=_float,
            parse_constant=_constant,
        )
    except UnicodeDecodeError as error:
        _refuse(f"byte {error.start} is not UTF-8")
    except json.JSONDecodeError as error:
        _refuse(f"{error.msg} at character {error.pos}")
    _check_text(value)
    return value


def _refuse(what: str) -> NoReturn:
    raise Violation("R004", f"the manifest is not strict JSON: {what}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        _refuse(f"duplicate key {counts.most_common(1)[0][0]!r:.80}")
    return found


def _int(token: str) -> int:
    # Python refuses to convert thousands of digits, and 2^63-1 has 19.
    if token == "-0" or len(token) > 20 or abs(value := int(token)) > MAX_INT:
        _refuse(f"the integer {token[:24]} is -0 or beyond ±(2^63-1)")
    return value


def _float(token: str) -> float:
    if not math.isfinite(value := float(token)):
        _refuse(f"the number {token[:24]} does not round to a finite double")
    return value


def _constant(token: str) -> NoReturn:
    _refuse(f"{token} is no number")


def _check_depth(data: bytes) -> None:
    # Before json recurses: how deep Python lets it go is up to the program around us.
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    brackets = _STRING.sub(b"", data).translate(None, _ALL_ELSE)
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH:
        _refuse(f"arrays and objects nest deeper than {MAX_DEPTH}")


def _check_text(value: Any) -> None:
    level = [value]
    while level:
        inner: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _check_string(item)
            elif isinstance(item, list):
                inner += item
            elif isinstance(item, dict):
                inner += item
                inner += item.values()
        level = inner


def _check_string(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        _refuse(f"the string {text[:24]!r} holds half a surrogate pair")
