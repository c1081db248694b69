"""Caches that everybody must read: each dtype, kind, codec and corner of payload."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.rules.cases_files import trained
from tests.rules.cases_frames import CONTENT
from tests.rules.forge import ITEMSIZES, Cache, Field, Record, Shard
from tests.rules.frames import MAGIC, RLE, block, compress, frame, run_of
from tests.rules.goods import DICTIONARY, empty, main, ramp
from tests.vectors import good_manifest, good_metadata
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


def with_dictionary(body: bytes) -> Cache:
    """Texts against a dictionary, and a frame that does not use it."""
    rows = [b"sample %d of a corpus of %d words" % (number, number * 7) for number in range(6)]
    field = filled(Field("b", "bytes", "uint8", "zstd-dict", dictionary=body), [*rows, b""])
    field.shards[0].records[3].stored = frame(rows[3])
    return cache_of(field)


for name, about, body in (
    (
        "trained",
        "A trained dictionary: entropy tables, repeat offsets, and an id that frames do not name.",
        trained,
    ),
    (
        "of-8-bytes",
        "A dictionary of 8 bytes, the fewest that are allowed; raw content.",
        lambda: b"\0\1\2\3\4\5\6\7",
    ),
    ("raw-content", "A dictionary of raw content.", lambda: DICTIONARY),
    (
        "like-a-frame",
        "A dictionary of raw content that begins like a frame.",
        lambda: MAGIC + bytes(range(60)),
    ),
):
    add(f"dictionary-{name}", about, functools.partial(lambda body: with_dictionary(body()), body))


def frames_of(*pairs: tuple[bytes, bytes]) -> Cache:
    """A field of bytes whose records are stored as these frames."""
    records = [Record(stored, (len(content),)) for content, stored in pairs]
    field = Field(
        "b", "bytes", "uint8", "zstd", shards=[Shard(records)], values=[content for content, _ in pairs]
    )
    return cache_of(field)


LONG = CONTENT * 9
FRAMES: dict[str, tuple[str, Callable[[], Cache]]] = {
    "single-segment": (
        "Frames of one segment, their content size spelt in 1, 2, 4 and 8 bytes.",
        lambda: frames_of(
            (CONTENT[:255], frame(CONTENT[:255], size_bytes=1)),
            *((CONTENT, frame(CONTENT, size_bytes=size)) for size in (2, 4, 8)),
        ),
    ),
    "window": (
        "Frames with a window: 1 KiB under a larger content, 128 MiB, and one of many eighths.",
        lambda: frames_of(
            (
                LONG,
                frame(blocks=block(LONG[:900], last=False) * 2 + block(LONG[:900]), size=len(LONG), window=0),
            ),
            (CONTENT, frame(CONTENT, window=0x88)),
            (CONTENT, frame(CONTENT, window=0x17)),
            (CONTENT, frame(CONTENT, size_bytes=8, window=0x10)),
        ),
    ),
    "blocks": (
        "Frames of several blocks: raw, runs, compressed, empty ones before, between and after.",
        lambda: frames_of(
            (b"x" * 1000, frame(blocks=block(b"x", kind=RLE, size=1000), size=1000)),
            (CONTENT, frame(CONTENT, blocks=block(b"", last=False) * 5 + block(CONTENT))),
            (CONTENT, frame(CONTENT, blocks=block(CONTENT, last=False) + block(b""))),
            (b"abccc", frame(blocks=block(b"ab", last=False) + block(b"c", kind=RLE, size=3), size=5)),
            (LONG, compress(LONG)),
        ),
    ),
    "unused-bit": (
        "The unused bit of a frame's descriptor is set, which RFC 8878 says to ignore.",
        lambda: frames_of((CONTENT, frame(CONTENT, flags=16))),
    ),
    "empty": (
        "Frames of no content: with a segment, with a window, of several blocks.",
        lambda: frames_of(
            (b"", frame()),
            (b"", frame(size_bytes=8)),
            (b"", frame(window=0x10)),
            (b"", frame(blocks=block(b"", last=False) * 3 + block(b""))),
            (b"", compress(b"")),
        ),
    ),
    "at-the-bound": (
        "16 MiB in 521 bytes, which the bound of 32,768 times allows.",
        lambda: frames_of((bytes(1 << 24), frame(blocks=run_of(0, 1 << 24), size=1 << 24))),
    ),
    "single-segment-over-128-mib": (
        "One segment of 130 MiB: the limit of 128 MiB is on windows, not on a segment that is the content.",
        lambda: frames_of((b"\7" * (130 << 20), frame(blocks=run_of(7, 130 << 20), size=130 << 20))),
    ),
}
for name, (about, make) in FRAMES.items():
    add(f"frame-{name}", about, make)

VECTORS += good_manifest.VECTORS
VECTORS += good_metadata.VECTORS
