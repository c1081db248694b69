"""Caches whose manifest looks odd and is right: JSON, names, numbers of fields."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable

import numpy as np

from tests.rules.case import Break, attribute, swap, text
from tests.rules.forge import Cache, Field
from tests.rules.goods import empty
from tests.vectors.bits import filled
from tests.vectors.model import Good

VECTORS: list[Good] = []


def one() -> Cache:
    """Two samples of one field."""
    field = filled(Field("x", "dense", "uint8", shape=(2,)), [np.array([i, 255 - i], "u1") for i in range(2)])
    return Cache(name="good", fields=[field], counts=[2])


def changed(base: Callable[[], Cache], edit: Break) -> Cache:
    cache = base()
    edit(cache)
    return cache


def add(name: str, about: str, edit: Break, base: Callable[[], Cache] = one) -> None:
    VECTORS.append(Good(f"manifest-{name}", about, functools.partial(changed, base, edit)))


def reordered(content: bytes) -> bytes:
    return json.dumps(dict(reversed(json.loads(content).items()))).encode()


add(
    "white-space",
    "White space of all four kinds between the tokens of the manifest, and at its end.",
    text(
        lambda content: (
            b"{ \r\n\t" + json.dumps(json.loads(content), indent="\t\r\n ").encode()[1:] + b"\n \t\r\n"
        )
    ),
)
add("keys-in-another-order", "The keys of the manifest in another order than the writers'.", text(reordered))
add(
    "escaped-key",
    "A key of the manifest with an escaped letter.",
    swap('"name":"good"', '"n\\u0061me":"good"'),
)
add(
    "escaped-value",
    "A kind and a dtype with escaped letters.",
    text(lambda content: content.replace(b'"dense"', b'"\\u0064ense"').replace(b'"uint8"', b'"u\\u0069nt8"')),
)
ATTRIBUTES = {
    "numbers": (
        "Attributes with floats: -0.0, the largest, what rounds to 0, many digits; both ends of integers.",
        "[0.1,-0.0,1e-400,1.7976931348623157e308,1e+2,1E2,0e0,0."
        + "1" * 400
        + f",{2**63 - 1},{1 - 2**63},0,-1]",
    ),
    "words": ("Attributes with null, true and false.", "[null,true,false]"),
    "escapes": (
        "Attributes with every escape, a pair of surrogates, and letters that need none.",
        '["\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\ud83d\\ude00","\x7f\u2028\u2029\uffff\U0010ffff"]',
    ),
    "nesting-64": (
        "Attributes nested 64 levels deep, the outer object and attributes counted.",
        "[" * 31 + '{"x":' * 31 + "0" + "}" * 31 + "]" * 31,
    ),
    "keys": (
        "Attributes with one key at several depths, keys that differ in normal form, and an empty key.",
        '{"x":{"x":[{"x":1},{"x":1}]},"\u00e9":1,"e\u0301":2,"":{}}',
    ),
}
for label, (about, token) in ATTRIBUTES.items():
    add(f"attributes-{label}", about, attribute(token), empty)


def fingerprinted(cache: Cache) -> None:
    cache.fingerprint = '\0 \ud7ff " \\'


add("fingerprint", "A fingerprint is any text, U+0000 included.", fingerprinted, empty)


def named(name: str) -> Break:
    def change(cache: Cache) -> None:
        cache.name = name

    return change


for label, name in {
    "of-63-letters": "a" * 63,
    "of-one": "_",
    "like-a-column": "weight",
    "like-con": "com10",
}.items():
    add(f"cache-name-{label}", f"The cache is called {name}, which is allowed.", named(name), empty)

FIELD_NAMES = (
    "a" * 63,
    "0",
    "a-",
    "a_",
    "Weight",
    "CACHE_ID",
    "Sample_Id",
    "com10",
    "con_",
    "metadata",
    "manifest",
)


def field_names() -> Cache:
    """A field of each name that just is allowed."""
    fields = [
        filled(Field(name, "dense", "uint8"), [np.array(number, "u1")])
        for number, name in enumerate(FIELD_NAMES)
    ]
    return Cache(name="good", fields=fields, counts=[1])


def largest_shapes() -> Cache:
    """Without samples nothing is as large as its shape."""
    fields = [
        Field("bytes", "dense", "uint8", shape=(2**48,)),
        Field("items", "dense", "complex128", shape=(2**22, 2**22)),
        Field("axes", "dense", "uint8", shape=(2,) * 31),
        Field("packed", "dense", "uint8", "zstd", shape=(2**48,)),
    ]
    return Cache(name="good", fields=fields)


VECTORS += [
    Good("manifest-field-names", "Names of fields that just are allowed.", field_names),
    Good("manifest-largest-shapes", "No samples of 2^48 bytes each, and of 31 axes.", largest_shapes),
    Good(
        "manifest-256-fields-without-samples",
        "256 fields, the most that are allowed, without samples.",
        lambda: Cache(name="good", fields=[Field(f"f{number}", "dense", "uint8") for number in range(256)]),
    ),
]
