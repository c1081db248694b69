"""Caches that everybody must read: dictionaries, and frames as RFC 8878 lets writers make them."""

from __future__ import annotations

import functools
from collections.abc import Callable

from tests.rules.cases_files import trained
from tests.rules.cases_frames import CONTENT
from tests.rules.forge import Cache, Field, Record, Shard
from tests.rules.frames import MAGIC, RLE, block, compress, frame, run_of
from tests.rules.goods import DICTIONARY
from tests.vectors.bits import filled
from tests.vectors.model import Good

VECTORS: list[Good] = []


def add(name: str, about: str, make: Callable[[], Cache]) -> None:
    VECTORS.append(Good(name, about, make))


def cache_of(field: Field) -> Cache:
    """A cache of this field in one shard."""
    return Cache(name="good", fields=[field], counts=[len(field.values)])


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
