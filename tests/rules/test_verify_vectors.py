"""The engine's `verify` finds in every vector exactly the problems that are expected of it."""

from __future__ import annotations

import pytest

from dsrt_format.conformance import vectors
from dsrt_native import verify


@pytest.mark.parametrize("name", vectors.names())
def test_a_vector_has_the_problems_that_are_expected(name: str) -> None:
    for vector in vectors.each(lambda other: other == name):
        found = [
            {"rule": p.rule, "field": p.field, "shard": p.shard, "sample": p.sample, "kind": p.kind}
            for p in verify(vector.path)
        ]
        assert found == vector.expected.get("problems", [])
