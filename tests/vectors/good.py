"""Caches that everybody must read: each dtype, kind, codec and corner of payload."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.rules.forge import ITEMSIZES, Cache, Field
from tests.rules.goods import DICTIONARY, empty, main, ramp
from tests.vectors import good_frames, good_manifest, good_metadata
from tests.vectors.bits import filled, ragged, rolled
from tests.vectors.model import Good

VECTORS: list[Good] = []
CODECS: dict[str, dict[str, Any]] = {
    "raw": {"codec": "raw"},
    "zstd": {"codec": "zstd"},
    "zstd-dict": {"codec": "zstd-dict", "dictionary": DICTIONARY},
}


def good(name: str, about: str) -> Callable[[Callable[[], Cache]], Callable[[], Cache]]:
    def keep(make: Callable[[], Cache]) -> Callable[[], Cache]:
        VECTORS.append(Good(name, about, make))
        return make

    return keep


def add(name: str, about: str, make: Callable[[], Cache]) -> None:
    VECTORS.append(Good(name, about, make))


def cache_of(*fields: Field, name: str = "good") -> Cache:
    """A cache of these fields."""
    counts = [len(shard.records) for shard in fields[0].shards]
    return Cache(name=name, fields=list(fields), counts=counts)


add("all-kinds", "Every kind with every codec, and metadata of every type; five samples in two shards.", main)
add("empty", "No samples, and so no shards and no files.", empty)


@good("empty-of-all-kinds", "No samples in fields of every kind; the dictionaries are there all the same.")
def empty_of_all_kinds() -> Cache:
    cache = main()
    for item in cache.fields:
        item.shards, item.values = [], []
    cache.counts, cache.metadata, cache.columns, cache.types = [], None, {}, {}
    return cache


def dense_of_all_dtypes(codec: str) -> Cache:
    made = [
        filled(Field(dtype, "dense", dtype, shape=values[0].shape, **CODECS[codec]), values)
        for dtype in ITEMSIZES
        for values in [rolled(dtype, 3)]
    ]
    return cache_of(*made)


def ragged_of_all_dtypes(codec: str) -> Cache:
    made = []
    for number, dtype in enumerate(ITEMSIZES):
        ndim = 1 + number % 3
        made.append(filled(Field(dtype, "ragged", dtype, ndim=ndim, **CODECS[codec]), ragged(dtype, ndim)))
    return cache_of(*made)


for codec in CODECS:
    about = "with the values at its ends: -0.0, infinities, NaNs with payloads, both ends of integers"
    add(
        f"dense-{codec}",
        f"Dense, {codec}: a field of every dtype {about}.",
        functools.partial(dense_of_all_dtypes, codec),
    )
    add(
        f"ragged-{codec}",
        f"Ragged, {codec}: the same, in records of other shapes, one without elements.",
        functools.partial(ragged_of_all_dtypes, codec),
    )


BYTES = [b"", b"\0", bytes(range(256)), b"ab" * 50, b"the quick brown fox", b"\xff\xfe"]


@good("bytes", "Bytes of every codec: nothing, a zero, all 256 values, what repeats.")
def bytes_of_all_codecs() -> Cache:
    return cache_of(*(filled(Field(codec, "bytes", "uint8", **CODECS[codec]), BYTES) for codec in CODECS))


TEXTS = [
    "",
    "plain",
    "a\0b",
    "\ufeffmark",
    "e\u0301 and \u00e9",  # not normalised, both ways
    "\u007f\u0080\u07ff\u0800\ud7ff\ue000\ufffd\ufffe\uffff",
    "\U00010000\U0001f600\U000e0041\U0010ffff",  # planes 1, 14 and 16
    "".join(chr(plane * 0x10000 + 0x21) for plane in range(17)),
    "日本語" * 20,
    "\u202eright to left\u202c\u2028\u2029\r\n\t\x1b",
]


@good(
    "text",
    "Text of every codec: letters of all planes, U+0000, byte order mark, noncharacters, not normalised.",
)
def text_of_all_codecs() -> Cache:
    return cache_of(*(filled(Field(codec, "text", "uint8", **CODECS[codec]), TEXTS) for codec in CODECS))


SHAPES: dict[str, tuple[int, ...]] = {
    "scalar": (),
    "one": (1,),
    "nothing": (0,),
    "wide": (0, 3),
    "deep": (3, 0, 2),
    "huge": (0, 2**48),
    "axes": (2,) + (1,) * 30,
    "axes-and-nothing": (1,) * 30 + (0,),
}


@good("shapes-dense", "Dense shapes: (), axes of 0, 2^48 bytes beside an axis of 0, 31 axes; raw and zstd.")
def dense_shapes() -> Cache:
    made = []
    for codec in ("raw", "zstd"):
        for name, shape in SHAPES.items():
            dtype = "uint8" if name == "huge" else "int16"
            values = [ramp("u1" if name == "huge" else "<i2", shape, start) for start in range(3)]
            made.append(
                filled(Field(f"{name}-{codec}", "dense", dtype, shape=shape, **CODECS[codec]), values)
            )
    return cache_of(*made)


@good("shapes-ragged", "Ragged shapes of 1, 2, 5 and 31 axes, with axes of 0 in every place.")
def ragged_shapes() -> Cache:
    made = []
    for codec in ("raw", "zstd"):
        for ndim in (1, 2, 5, 31):
            shapes = [(1,) * ndim, (0,) * ndim, (0,) + (3,) * min(ndim - 1, 1) + (1,) * (ndim - 2)]
            shapes += [
                (2,) * min(ndim, 3) + (1,) * (ndim - 3),
                (2**20,) * (ndim > 1) + (1,) * (ndim - 2) + (0,),
            ]
            values = [ramp("<u2", shape, start) for start, shape in enumerate(shapes)]
            made.append(
                filled(Field(f"r{ndim}-{codec}", "ragged", "uint16", ndim=ndim, **CODECS[codec]), values)
            )
    return cache_of(*made)


@good(
    "empty-records", "Records of 0 bytes in every kind and codec, alone in their shards and between others."
)
def empty_records() -> Cache:
    made = []
    for codec in CODECS:
        options = CODECS[codec]
        made.append(
            filled(
                Field(f"dense-{codec}", "dense", "float32", shape=(0,), **options),
                [np.zeros(0, "<f4")] * 4,
                (1, 3),
            )
        )
        rows = [np.zeros(0, "<f4"), np.zeros(0, "<f4"), ramp("<f4", (2,), 1), np.zeros(0, "<f4")]
        made.append(filled(Field(f"ragged-{codec}", "ragged", "float32", **options), rows, (1, 3)))
        made.append(
            filled(Field(f"bytes-{codec}", "bytes", "uint8", **options), [b"", b"", b"x", b""], (1, 3))
        )
        made.append(filled(Field(f"text-{codec}", "text", "uint8", **options), ["", "", "x", ""], (1, 3)))
    return cache_of(*made)


@good("shards", "Five shards of 1, 4, 2, 1 and 3 samples: a number of its own for every place.")
def shards() -> Cache:
    counts = (1, 4, 2, 1, 3)
    return cache_of(
        filled(Field("fixed", "dense", "uint32"), [np.array(i, "<u4") for i in range(11)], counts),
        filled(Field("packed", "dense", "uint32", "zstd"), [np.array(i, "<u4") for i in range(11)], counts),
        filled(Field("rag", "ragged", "int16"), [ramp("<i2", (i,), i) for i in range(11)], counts),
    )


@good("pads", "Records that need a pad of each number of bytes from 0 to 7, fixed and indexed.")
def pads() -> Cache:
    made = []
    for size in range(8):
        made.append(
            filled(Field(f"fixed{size}", "dense", "uint8", shape=(size,)), [ramp("u1", (size,), size + 1)])
        )
        made.append(filled(Field(f"indexed{size}", "bytes", "uint8"), [bytes(range(1, size + 1))]))
    return cache_of(*made)


STRIDES = (1, 2, 3, 4, 254, 255)


@good("delta", "The filter delta with strides from 1 to 255, in every kind; records shorter than the stride.")
def delta() -> Cache:
    made = []
    lengths = (0, 1, 3, 4, 300)
    for stride in STRIDES:
        values = [((np.arange(length) ** 2) % 251).astype("u1") for length in lengths]
        made.append(
            filled(
                Field(f"bytes{stride}", "bytes", "uint8", "zstd", delta=stride),
                [row.tobytes() for row in values],
            )
        )
    image = [ramp("u1", (4, 5, 3), start) for start in (0, 100, 200, 250, 255)]
    made.append(filled(Field("image", "dense", "uint8", "zstd", shape=(4, 5, 3), delta=3), image))
    made.append(
        filled(
            Field("crop", "ragged", "uint8", ndim=3, delta=3, **CODECS["zstd-dict"]),
            [row[:, :, :i] for i, row in enumerate(image)],
        )
    )
    made.append(filled(Field("text", "text", "uint8", "zstd", delta=1), ["", "a", "öß", "日本", "z" * 200]))
    return cache_of(*made)


VECTORS += good_frames.VECTORS
VECTORS += good_manifest.VECTORS
VECTORS += good_metadata.VECTORS
