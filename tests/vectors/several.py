"""Vectors of several caches: what a merge and a dataset refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.rules.forge import Cache


@dataclass(frozen=True)
class Several:
    """Caches that are sound one by one and must not be put together.

    Attributes:
        rule: The rule that refuses them.
        name: What is wrong, unique within the rule.
        about: The same in a sentence.
        refused_by: "merge" or "dataset".
        caches: Makes them, by the names of their directories, in the order in which they are given.
    """

    rule: str
    name: str
    about: str
    refused_by: str
    caches: Callable[[], dict[str, Cache]]

    def expected(self) -> dict[str, Any]:
        """The content of expected.json."""
        return {
            "about": self.about,
            "caches": list(self.caches()),
            "rules": [self.rule],
            "refused_by": self.refused_by,
        }


VECTORS: list[Several] = []
