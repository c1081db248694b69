"""Forged manifests: other values, keys, counts and types, and text that is not quite JSON, well digested."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.faults.forged_numbers import NUMBERS, Done
from tests.rules.forge import Cache


def manifest(random: Random, cache: Cache) -> Done | None:
    """A manifest in which one value is another, one key is gone, twice or new, or a list is longer."""
    done: list[str] = []
    draw = Random(random.getrandbits(64))

    def edit(values: dict[str, Any]) -> None:
        holder, key = _somewhere(draw, values)
        way = draw.choice(["value", "value", "value", "gone", "new", "doubled"])
        done.append(f"{way} {key!r} of {holder!s:.60}")
        if way == "value":
            holder[key] = _other(draw, holder[key])
            done.append(f"now {holder[key]!r:.60}")
        elif way == "gone":
            del holder[key]
        elif isinstance(holder, dict):
            holder["new" if way == "new" else f"{key}2"] = holder[key]
        else:
            holder.insert(key, holder[key])

    cache.edit_manifest = edit
    return "manifest", "manifest", done


def _somewhere(random: Random, values: Any) -> tuple[Any, Any]:
    """Return a container inside of a JSON value and a key of it, deep places as likely as shallow ones."""
    while True:
        keys = list(values) if isinstance(values, dict) else list(range(len(values)))
        key = random.choice(keys)
        if isinstance(values[key], dict | list) and values[key] and random.random() < 0.8:
            values = values[key]
        else:
            return values, key


def _other(random: Random, value: Any) -> Any:
    odd = [None, True, "", "x", [], {}, 0.5, -1, [value], *NUMBERS[:12]]
    if isinstance(value, int):
        near = [value + 1, value - 1, value + 8, value - 8, value * 2, -value]
        return random.choice([*near, *near, *[n for n in NUMBERS if n < 2**63], *odd])
    if isinstance(value, str):
        words = [
            "dense",
            "ragged",
            "bytes",
            "text",
            "raw",
            "zstd",
            "zstd-dict",
            "uint8",
            "int64",
            "bool",
            "float64",
        ]
        return random.choice([*words, value[::-1], value.upper(), value + "0", "../" + value, "a\0b", *odd])
    return random.choice(odd)


def text(random: Random, cache: Cache) -> Done | None:
    """A manifest whose text is not quite JSON, or not quite strict, with the digest of that text."""
    done: list[str] = []
    draw = Random(random.getrandbits(64))

    def edit(content: bytes) -> bytes:
        data = bytearray(content)
        at = draw.randrange(1, len(data))
        way = draw.choice(["flip", "flip", "token", "cut", "deep", "out"])
        done.append(f"{way} at {at + 76}")
        if way == "flip":
            data[at] ^= 1 << draw.randrange(8)
        elif way == "token":
            tokens = [
                b"-0",
                b"1e999",
                b"NaN",
                b"\\ud800",
                b"\xff",
                b"1.0",
                b"9223372036854775808",
                b'"',
                b",",
                b" ",
            ]
            data[at:at] = draw.choice(tokens)
        elif way == "cut":
            del data[at:]
        elif way == "deep":
            data[14:15] = b'{"a":' + b"[" * draw.choice([60, 64, 70, 100000]) + b"0"
        else:
            del data[at : at + draw.choice([1, 2, 20])]
        return bytes(data)

    cache.edit_text = edit
    return "text", "manifest", done


def counts(random: Random, cache: Cache) -> Done | None:
    """Shards of other numbers of samples than their files hold."""
    done: list[str] = []
    draw = Random(random.getrandbits(64))

    def edit(values: dict[str, Any]) -> None:
        shards = values["shards"]
        way = draw.choice(["shift", "number", "one more", "one less", "order"])
        if way == "shift":
            shards[0] += 1
            shards[1] -= 1
        elif way == "number":
            shards[draw.randrange(len(shards))] = draw.choice([n for n in NUMBERS if n < 2**63])
        elif way == "one more":
            shards.append(1)
            for field in values["fields"]:
                field["files"].append(dict(draw.choice(field["files"])))
        elif way == "one less":
            shards.pop()
            for field in values["fields"]:
                field["files"].pop()
        else:
            draw.shuffle(shards)
        if draw.random() < 0.8:
            values["samples"] = sum(shards)
        done.append(f"{way}: {values['samples']} samples in {shards}")

    cache.edit_manifest = edit
    return "counts", "manifest", done


def schema(random: Random, cache: Cache) -> Done | None:
    """A field that is said to be of another dtype, kind, codec, shape or delta, all sealed accordingly."""
    field = random.choice(cache.fields)
    before = (field.kind, field.dtype, field.codec, field.shape, field.ndim, field.delta)
    way = random.choice(["dtype", "kind", "codec", "shape", "ndim", "delta"])
    if way == "dtype":
        field.dtype = random.choice(["bool", "uint8", "int16", "float64", "complex128", "bfloat16"])
    elif way == "kind":
        field.kind = random.choice(["text", "bytes", "ragged", "dense"])
        if field.kind in ("text", "bytes"):
            field.dtype = "uint8"
    elif way == "codec":
        field.codec = random.choice(["raw", "zstd"])
        field.dictionary = None
    elif way == "shape":
        field.shape = random.choice([(), (0,), (1,) * 31, (1,) * 32, (2**47,), (2**62, 8), (3, 4), (12,)])
    elif way == "ndim":
        field.ndim = random.choice([0, 1, 2, 3, 31, 32])
    else:
        field.delta = random.choice([1, 3, 255, 256, 0])
    axes = {"dense": 0, "ragged": field.ndim}.get(field.kind, 1)
    for shard in field.shards:
        for record in shard.records:
            record.shape = (*record.shape, *(1,) * axes)[:axes]
    after = (field.kind, field.dtype, field.codec, field.shape, field.ndim, field.delta)
    return "schema", "manifest", [f"{field.name} was {before}, is {after}"]
