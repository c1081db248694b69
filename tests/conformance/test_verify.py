"""The native verification reports exactly the problems of each vector."""

from __future__ import annotations

import dsrt_native
from dsrt_format.conformance.vectors import each


def test_verify_reports_exactly_the_problems_of_each_vector() -> None:
    wrong = []
    for vector in each():
        found = [
            {"rule": p.rule, "field": p.field, "shard": p.shard, "sample": p.sample, "kind": p.kind}
            for p in dsrt_native.verify(vector.path)
        ]
        if found != vector.expected.get("problems", []):
            wrong.append((vector.name, found[:9]))
    assert wrong == []
