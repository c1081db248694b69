import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrt_format.rules import Violation
from dsrt_format.strict_json import parse

texts = st.text(st.sampled_from('[]{}"\\/é\n a'), max_size=12)
values = st.recursive(
    texts | st.integers(-9, 9) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=80,
)


@given(values, st.integers(0, 40))
def test_brackets_in_strings_nest_nothing(value, levels):
    nested = [value] * 70
    for _ in range(levels):
        nested = {'a"[': nested}
    assert parse(json.dumps(nested).encode()) == nested


@pytest.mark.parametrize(
    ("opening", "closing", "levels"), [("[", "]", 1), ('{"[":', "}", 1), ('[{"\\"[":', "}]", 2)]
)
def test_the_65th_level_is_refused_and_the_64th_is_not(opening, closing, levels):
    count = 64 // levels
    parse(f"{opening * count}0{closing * count}".encode())
    with pytest.raises(Violation, match="deeper than 64"):
        parse(f"{opening * count}[0]{closing * count}".encode())


def test_how_deep_python_may_go_makes_no_difference():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**7)
    try:
        with pytest.raises(Violation, match="deeper than 64"):
            parse(b"[" * 1_000_000)
    finally:
        sys.setrecursionlimit(limit)


def test_a_caller_without_room_on_its_stack_is_told_that_and_not_that_the_text_is_bad():
    def at(depth):
        return parse(b"[[[[[[[[[[1]]]]]]]]]]") if depth == 0 else at(depth - 1)

    found = set()
    for depth in range(sys.getrecursionlimit() - 120, sys.getrecursionlimit()):
        try:
            found.add(type(at(depth)))
        except RecursionError:
            found.add(RecursionError)
    assert found == {list, RecursionError}
