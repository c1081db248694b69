"""Bytes that a library made once: the same ones under any version of it.

recorded.json holds them by what they were made from. Whatever is not there is made now, and remembered, so
that ``python -m tests.vectors --record`` can add it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from blake3 import blake3

FILE = Path(__file__).with_name("recorded.json")
KNOWN: dict[str, str] = json.loads(FILE.read_text()) if FILE.exists() else {}
FRESH: dict[str, str] = {}


def recorded(what: str, inputs: list[bytes], make: Callable[[], bytes]) -> bytes:
    """The bytes made from `inputs`, as they were made first; `what` names the way."""
    key = f"{what} {blake3(b''.join(len(part).to_bytes(8) + part for part in inputs)).hexdigest()[:24]}"
    if key in KNOWN:
        return bytes.fromhex(KNOWN[key])
    content = make()
    FRESH[key] = content.hex()
    return content
