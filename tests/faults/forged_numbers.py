"""What forgeries have in common: numbers that no sound cache holds, and how an edit is told."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.rules.forge import Cache

NUMBERS = [0, 1, 2, 3, 7, 8, 63, 64, 65, 255, 256, 4096, 2**20, 2**20 + 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32]
NUMBERS += [2**40, 2**47, 2**48, 2**48 + 1, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1]


Done = tuple[str, str, list[str]]
Forge = Callable[[Random, Cache], Done | None]
"""Edits a model and says what it did as (kind, region, words); None where there is nothing to edit."""
