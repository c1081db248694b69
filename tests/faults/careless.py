"""The control: the reference reader with its comparisons turned off, like a format without checksums.

What is turned off is the comparison of digests, checksums, headers and lengths, here and not in the product.
If faults do not come through this reader as wrong values, then they prove nothing about the other ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import dsrt_format.dictionary
import dsrt_format.directory
import dsrt_format.manifest_json
import dsrt_format.metadata
import dsrt_format.shard
from dsrt_format.rules import Violation


class _Equal:
    """A digest or checksum that equals every other."""

    def hex(self) -> _Equal:
        return self

    def encode(self) -> _Equal:
        return self

    def __getitem__(self, _: object) -> str:
        return ""

    def __xor__(self, _: object) -> _Equal:
        return self

    def __eq__(self, _: object) -> bool:
        return True

    def __ne__(self, _: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]  # as for any class that is equal to all


def _equal(*_: Any) -> _Equal:
    return _Equal()


def _accept(*_: Any) -> None:
    """Compare nothing."""


def _regular(name: str, length: int, is_regular: bool, found: int) -> None:
    if not is_regular:
        raise Violation("R030", f"{name} is not a regular file")


_OFF = [
    (dsrt_format.manifest_json, "blake3_digest", _equal),
    (dsrt_format.dictionary, "blake3_digest", _equal),
    (dsrt_format.dictionary, "check_header", _accept),
    (dsrt_format.metadata, "blake3_digest", _equal),
    (dsrt_format.shard, "blake3_digest", _equal),
    (dsrt_format.shard, "finished_crc", _equal),
    (dsrt_format.shard, "check_header", _accept),
    (dsrt_format.directory, "_check_found", _regular),
]


@contextmanager
def checks_off() -> Iterator[None]:
    """Within this, `dsrt_format.reference` compares nothing."""
    with ExitStack() as stack:
        for module, name, instead in _OFF:
            stack.enter_context(mock.patch.object(module, name, instead))
        yield
