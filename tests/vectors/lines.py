"""How the tables of chosen cases are written.

A line is the name of a case; behind a bar stand the fields that the cache keeps, and "metadata", where they
are others than the one that the case breaks.
"""

from __future__ import annotations


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]
