"""What the caches under test hold, made from names and numbers: a truth that no cache is asked for."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsrt_format import Bytes, Dense, Ragged, Text, Zstd
from dsrt_format.columns import COLUMN_TYPES, NUMBERS
from dsrt_format.dtypes import ITEMSIZE, numpy_dtype
from dsrt_format.fields import Codec
from dsrt_native import train_dictionary

SAMPLES = 12
PER_SHARD = 5

Specs = dict[str, Any]
Value = Callable[[random.Random, int], Any]

_WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
_WORDS += ["größe", "naïve", "日本語", "🙂", "\0", ""]
_NULLS = frozenset({1, 6, 11})
"""The rows where a column that has nulls has them. Numeric columns are gathered from the others."""


@dataclass(frozen=True)
class Source:
    """One state of one cache: what was written into it.

    Attributes:
        fields: The specs by name.
        columns: The types of metadata columns by name.
        samples: One dict a sample, as a writer takes it.
    """

    fields: Specs
    columns: dict[str, str]
    samples: list[dict[str, Any]]


def _text(random: random.Random, most: int) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(random.randrange(most)))


def _array(random: random.Random, dtype: str, shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape, dtype=np.int64))
    data = random.randbytes(count * ITEMSIZE[dtype])
    if dtype == "bool":
        data = bytes(byte & 1 for byte in data)
    return np.frombuffer(data, numpy_dtype(dtype)).reshape(shape)


@functools.cache
def _trained(seed: int) -> bytes:
    source = random.Random(f"dictionary {seed}")
    lines = [" ".join(source.choice(_WORDS) for _ in range(30)).encode() for _ in range(400)]
    return train_dictionary(lines, 1024)


def _raw_dictionary(seed: int) -> bytes:
    return random.Random(f"raw dictionary {seed}").randbytes(600)


def _phrases(source: random.Random, seed: int) -> bytes:
    """Bytes of which a raw dictionary knows much."""
    known = _raw_dictionary(seed)
    starts = [source.randrange(500) for _ in range(source.randrange(6))]
    return b"".join(known[start : start + 80] + source.randbytes(4) for start in starts)


def _dtypes(seed: int) -> tuple[Specs, dict[str, Value]]:
    """Every dtype once, kinds and codecs taking turns."""
    specs: Specs = {}
    values: dict[str, Value] = {}
    codecs: list[Codec] = ["raw", "zstd", Zstd(dictionary=_raw_dictionary(seed))]
    for place, dtype in enumerate(ITEMSIZE):
        codec = codecs[place // 2 % 3]
        if place % 2:
            specs[f"d_{dtype}"] = Ragged(dtype, 1 + place % 3, codec=codec)
            values[f"d_{dtype}"] = lambda source, i, dtype=dtype, axes=1 + place % 3: _array(
                source, dtype, tuple(source.randrange(4) for _ in range(axes))
            )
        else:
            specs[f"d_{dtype}"] = Dense(dtype, (3, 4), codec=codec)
            values[f"d_{dtype}"] = lambda source, i, dtype=dtype: _array(source, dtype, (3, 4))
    return specs, values


def _kinds(seed: int) -> tuple[Specs, dict[str, Value]]:
    """Every kind with every codec, the corners of shapes among them."""
    trained, raw = Zstd(dictionary=_trained(seed)), Zstd(dictionary=_raw_dictionary(seed))
    specs: Specs = {
        "scalar": Dense("int64"),
        "void": Dense("float32", (0, 2)),
        "thin": Dense("uint8", (3,)),
        "label": Dense("uint16", (8,), codec=raw),
        "rag": Ragged("int16"),
        "grid": Ragged("uint8", 2, codec="zstd", delta=3),
        "tokens": Ragged("int32", codec=raw),
        "jpeg": Bytes(),
        "blob": Bytes(codec="zstd"),
        "phrase": Bytes(codec=raw),
        "title": Text(),
        "caption": Text(codec="zstd"),
        "story": Text(codec=trained),
    }
    values: dict[str, Value] = {
        "scalar": lambda source, i: _array(source, "int64", ()),
        "void": lambda source, i: np.zeros((0, 2), np.float32),
        "thin": lambda source, i: _array(source, "uint8", (3,)),
        "label": lambda source, i: np.frombuffer((_phrases(source, seed) + bytes(16))[:16], np.uint16),
        "rag": lambda source, i: _array(source, "int16", (source.randrange(20),)),
        "grid": lambda source, i: _array(source, "uint8", (source.randrange(5), 7)),
        "tokens": lambda source, i: np.frombuffer((b := _phrases(source, seed))[: len(b) // 4 * 4], np.int32),
        "jpeg": lambda source, i: source.randbytes(source.randrange(300)),
        "blob": lambda source, i: b"ab" * source.randrange(300),
        "phrase": lambda source, i: _phrases(source, seed),
        "title": lambda source, i: _text(source, 9),
        "caption": lambda source, i: _text(source, 30),
        "story": lambda source, i: _text(source, 40),
    }
    return specs, values


def _images(seed: int) -> tuple[Specs, dict[str, Value]]:
    """Larger records, so that 4 KiB blocks lie inside one."""
    ramp = np.arange(40 * 40 * 3, dtype=np.uint32) // 5
    trained = Zstd(dictionary=_trained(seed))
    specs: Specs = {
        "image": Dense("uint8", (40, 40, 3), codec="raw"),
        "packed": Dense("uint8", (40, 40, 3), codec="zstd", delta=3),
        "note": Bytes(codec=trained),
    }
    values: dict[str, Value] = {
        "image": lambda source, i: (ramp + source.randrange(256)).astype(np.uint8).reshape(40, 40, 3),
        "packed": lambda source, i: (ramp * source.randrange(1, 9)).astype(np.uint8).reshape(40, 40, 3),
        "note": lambda source, i: _text(source, 50).encode(),
    }
    return specs, values


def _little(seed: int) -> tuple[Specs, dict[str, Value]]:
    """Few bytes of payload, so that most of the cache is metadata."""
    return {"x": Dense("float64"), "t": Text()}, {
        "x": lambda source, i: _array(source, "float64", ()),
        "t": lambda source, i: _text(source, 4),
    }


def _cell(source: random.Random, word: str) -> Any:
    if word == "bool":
        return source.random() < 0.5
    if word in ("float32", "float64"):
        special = [float("nan"), float("inf"), -0.0, 1.5]
        return np.dtype(word).type(source.choice([*special, source.uniform(-9, 9)]))
    if word in NUMBERS:
        low, high = np.iinfo(word).min, np.iinfo(word).max
        return source.choice([low, high, source.randint(int(low), int(high))])
    if word == "string":
        return _text(source, source.choice([2, 12]))
    if word == "binary":
        return source.randbytes(source.choice([0, 12, 13, 70]))
    if word == "date":
        return np.datetime64(source.randrange(-(10**5), 10**5), "D")
    unit = word.partition("[")[2][:2]
    kind = "M8" if word.startswith("timestamp") else "m8"
    return np.int64(source.randrange(-(2**62), 2**62)).astype(f"{kind}[{unit}]")


def _few_columns() -> dict[str, str]:
    return {"n_class": "int32", "file": "string", "taken": "date"}


def _all_columns() -> dict[str, str]:
    """Each type twice, with nulls and without, and the weights."""
    with_nulls = {f"n_{number}": word for number, word in enumerate(COLUMN_TYPES)}
    without = {f"c_{number}": word for number, word in enumerate(COLUMN_TYPES)}
    return {**with_nulls, **without, "weight": "float64"}


def _row(source: random.Random, columns: dict[str, str], sample: int) -> dict[str, Any]:
    row = {name: _cell(source, word) for name, word in columns.items()}
    if sample in _NULLS:
        row |= {name: None for name in row if name.startswith("n_")}
    if "weight" in row:
        row["weight"] = source.choice([0.0, 1.0, source.uniform(0, 9)])
    return row


_RECIPES: dict[str, tuple[Callable[[int], tuple[Specs, dict[str, Value]]], dict[str, str]]] = {
    "kinds": (_kinds, _few_columns()),
    "dtypes": (_dtypes, {}),
    "images": (_images, _few_columns()),
    "table": (_little, _all_columns()),
}

RECIPES = tuple(_RECIPES)


def source(recipe: str, build: str) -> Source:
    """Return what a recipe's build holds: the ``"new"`` one, an ``"old"`` one, or a ``"sibling"``.

    All three have the same fields and columns and no value in common but by chance. The old one is an earlier
    build of the same cache; the sibling has another name, and one more sample.
    """
    seed = ("new", "old", "sibling").index(build)
    make, columns = _RECIPES[recipe]
    fields, values = make(seed)
    own = random.Random(f"{recipe} {build}")
    samples = []
    for sample in range(SAMPLES + (build == "sibling")):
        row = _row(own, columns, sample)
        samples.append({**{name: value(own, sample) for name, value in values.items()}, **row})
    return Source(fields, columns, samples)
