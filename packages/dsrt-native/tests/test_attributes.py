"""Attributes: JSON that keeps what was given, or an error that says where."""

import json

import numpy as np
import pytest

from dsrt_format import SchemaError
from dsrt_native.attributes import attributes_json


def nested(levels: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(levels - 1):
        value = {"k": value}
    return value


def test_json_keeps_what_was_given():
    given = {"a": [None, True, 1, 1.5, -0.0, 1e22, "ü\u2028\0"], "d": {"": {}}, "t": (1, [2])}
    assert json.loads(attributes_json(given)) == {**given, "t": [1, [2]]}
    assert attributes_json({}) == b"{}"
    attributes_json(nested(63))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({1: 2}, "attributes: the key 1 is no str"),
        ({"a": {"b": [0, float("inf")]}}, r"attributes\['a'\]\['b'\]\[1\]: inf"),
        ({"a": float("nan")}, "nan"),
        ({"a": 2**63}, "2.63 - 1"),
        ({"a": "\ud800"}, "surrogate"),
        ({"\ud800": 1}, "surrogate"),
        ({"a": b"x"}, "bytes is not in JSON"),
        ({"a": np.float64(1)}, "numpy.float64 is not in JSON"),
        ({"a": {1, 2}}, "set is not in JSON"),
        (nested(64), "nested deeper than 63"),
    ],
)
def test_what_json_cannot_keep_is_refused_with_its_place(given, said):
    with pytest.raises(SchemaError, match=said):
        attributes_json(given)


def test_attributes_are_a_dict():
    with pytest.raises(TypeError, match="expected a dict"):
        attributes_json([])  # type: ignore[arg-type]  # that is the point
