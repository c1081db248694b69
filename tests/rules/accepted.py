"""Caches that look broken and are not: each must be read, with the right values, by every reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .arrow_columns import TYPES, Column, Packed
from .arrow_file import ArrowFile, Batch
from .case import Break, attribute, disk, swap, text
from .cases_files import trained
from .cases_frames import CONTENT
from .cases_json import LIMIT
from .cases_records import store
from .cases_rows import meta, wide
from .cases_schema import footer
from .cases_values import (
    dense_shape,
    many_fields,
    ragged_axes,
    rename,
    rename_cache,
    void_shards,
    without_samples,
)
from .forge import Cache, Field
from .frames import MAGIC, RLE, block, compress, frame, run_of
from .goods import empty, fill, main, ramp, table, tall, tall_table, with_metadata


@dataclass(frozen=True)
class Accepted:
    """A cache that every reader must read; a validator may report the `also` of it."""

    name: str
    base: Callable[[], Cache]
    edit: Break
    also: frozenset[str] = frozenset()

    def make(self) -> Cache:
        cache = self.base()
        self.edit(cache)
        return cache


ACCEPTED: list[Accepted] = []


def add(name: str, edit: Break, base: Callable[[], Cache] = main, also: str = "") -> None:
    ACCEPTED.append(Accepted(name, base, edit, frozenset(also.split())))


def unchanged(_: Cache) -> None:
    """The good cache itself."""


add("good: main", unchanged)
add("good: empty", unchanged, empty)
add("good: metadata of two chunks", unchanged, wide)
add("good: tall", unchanged, lambda: tall(tall_table()))
add("good: one shard", unchanged, lambda: main((5,)))
add("good: a shard for each sample", unchanged, lambda: main((1,) * 5))

# The manifest.
add(
    "white space between tokens",
    text(lambda content: json.dumps(json.loads(content), indent="\t\r\n ").encode()),
)
add("white space after byte 77", text(lambda content: b"{ \r\n\t" + content[1:]))
add("white space at the end", text(lambda content: content + b"\n \t\r\n"))
add("manifest of 64 MiB", text(lambda content: content + b" " * (LIMIT - 76 - len(content))))
add(
    "keys in another order",
    text(lambda content: json.dumps(dict(reversed(json.loads(content).items()))).encode()),
)
add("escaped key", swap('"name":"good"', '"n\\u0061me":"good"'))
add("escaped value", swap('"kind":"text","name":"title"', '"kind":"\\u0074ext","name":"title"'))
TOKENS = {
    "float": "0.1",
    "minus zero as a float": "-0.0",
    "float that rounds to zero": "1e-400",
    "largest float": "1.7976931348623157e308",
    "float with a plus in the exponent": "[1e+2,1E2,0e0]",
    "float of many digits": "0." + "1" * 5000,
    "largest int": str(2**63 - 1),
    "smallest int": str(-(2**63) + 1),
    "null, true and false": "[null,true,false]",
    "escapes": '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\ud83d\\ude00"',
    "NUL and DEL": '"\\u0000\x7f"',
    "line separators": '"\u2028\u2029"',
    "noncharacter": '"\uffff"',
    "same key at different depths": '{"x":{"x":[{"x":1},{"x":1}]}}',
    "keys that differ in normal form": '{"\u00e9":1,"e\u0301":2}',
    "empty key": '{"":{}}',
    "nesting 64": "[" * 62 + "]" * 62,
    "nesting 64 of objects": '{"x":' * 61 + "{}" + "}" * 61,
    "many brackets side by side": "[" + "[],{}," * 500 + "0]",
}
for name, token in TOKENS.items():
    add(f"attribute: {name}", attribute(token))


def fingerprinted(cache: Cache) -> None:
    cache.fingerprint = "\0 \ud7ff"


add("fingerprint of any text", fingerprinted)
NAMES = ("a" * 63, "_x", "_", "0", "a-", "weight", "sample_id", "com", "com10", "console", "nul_", "A-b_9")
for name in NAMES:
    add(f"cache name {name}", rename_cache(name))
for name in (
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
):
    add(f"field name {name}", rename("dense", name))
add("256 fields", many_fields(256))


def nothing_in(*shape: int) -> Break:
    """A dense field of that shape, which has an axis of 0."""

    def change(cache: Cache) -> None:
        dense_shape(*shape)(cache)
        cache.fields[0].values = [np.zeros(shape, np.uint8)] * 5

    return change


add("2^48 bytes beside a zero", nothing_in(0, 2**48))
add("2^48 bytes, no samples", without_samples(dense_shape(2**48)))
add("31 axes", nothing_in(0, *[1] * 30))
add("31 ragged axes", ragged_axes(31))


# The directory.
def write(relative: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        (path / relative).parent.mkdir(parents=True, exist_ok=True)
        (path / relative).write_bytes(b"not ours")

    return change


for relative in (
    "README",
    "manifest.json.tmp",
    "fields/notes.txt",
    "fields/rag/00002.shard",
    "fields/rag/000000.shard",
    "fields/rag/dictionary.bin",
    "fields/other/00000.shard",
    ".good.building/lock",
):
    add(f"unknown file {relative}", disk(write(relative)), also="R053")
add("unknown metadata.arrow", disk(write("metadata.arrow")), empty, also="R053")


def link(relative: str) -> Break:
    """Moves a file or directory out of the cache and leaves a link."""

    def change(path: Path) -> None:
        place = path / relative
        place.rename(path.parent / "elsewhere")
        place.symlink_to(path.parent / "elsewhere")

    return disk(change)


for relative in ("manifest.json", "metadata.arrow", "fields", "fields/rag", "fields/rag/00001.shard"):
    add(f"link at {relative}", link(relative))
add("link at the dictionary", link("fields/tokens/dictionary.bin"))
add(
    "the cache a link",
    disk(lambda path: path.rename(path.parent / "x") and path.symlink_to(path.parent / "x")),
)
add(
    "no directory of fields, no samples",
    disk(lambda path: [place.rmdir() for place in (path / "fields/x", path / "fields")]),
    empty,
)


# Shards.
def pad(of: str, content: bytes) -> Break:
    def change(cache: Cache) -> None:
        cache.field(of).shards[1].pad = content

    return change


add("pad not zero, fixed", pad("half", b"\1\2\3\4"), also="R051")
add("pad not zero, indexed", pad("rag", b"\1\2"), also="R051")
add("16 bytes of pad too many, indexed", pad("rag", bytes(18)), also="R051")


def dictionary(content: Callable[[], bytes]) -> Break:
    def change(cache: Cache) -> None:
        place = [item.name for item in cache.fields].index("tokens")
        old = cache.fields[place]
        fresh = Field("tokens", "ragged", "int32", "zstd-dict", dictionary=content())
        cache.fields[place] = fill(fresh, old.values, cache.counts)

    return change


add("trained dictionary", dictionary(trained))
add("dictionary of 8 bytes", dictionary(lambda: b"\0\1\2\3\4\5\6\7"))
add("dictionary of 1 MiB", dictionary(lambda: bytes(range(256)) * 4096))
add("dictionary that begins like a frame", dictionary(lambda: MAGIC + bytes(range(60))))


def blob(content: bytes, stored: bytes, of: str = "blob") -> Break:
    def change(cache: Cache) -> None:
        store(cache.record(of, 4), stored, len(content))
        cache.field(of).values[4] = content.decode() if of == "caption" else content

    return change


LONG = b"\x07" * (130 << 20)
FRAMES: dict[str, tuple[bytes, Callable[[], bytes]]] = {
    "content size in 1 byte": (CONTENT[:255], lambda: frame(CONTENT[:255], size_bytes=1)),
    "content size in 2 bytes": (CONTENT, lambda: frame(CONTENT, size_bytes=2)),
    "content size in 8 bytes": (CONTENT, lambda: frame(CONTENT, size_bytes=8)),
    "unused bit": (CONTENT, lambda: frame(CONTENT, flags=16)),
    "window of 128 MiB": (CONTENT, lambda: frame(CONTENT, window=0x88)),
    "window smaller than the content": (
        CONTENT * 9,
        lambda: frame(blocks=block(CONTENT * 3, last=False) * 2 + block(CONTENT * 3), size=9 * 300, window=0),
    ),
    "empty blocks": (CONTENT, lambda: frame(CONTENT, blocks=block(b"", last=False) * 5 + block(CONTENT))),
    "a run": (b"x" * 1000, lambda: frame(blocks=block(b"x", kind=RLE, size=1000), size=1000)),
    "16 MiB in 521 bytes": (bytes(1 << 24), lambda: frame(blocks=run_of(0, 1 << 24), size=1 << 24)),
    "single segment over 128 MiB": (LONG, lambda: frame(blocks=run_of(7, len(LONG)), size=len(LONG))),
    "empty": (b"", frame),
    "empty, size in 8 bytes": (b"", lambda: frame(size_bytes=8)),
    "empty, with a window": (b"", lambda: frame(window=0x10)),
    "empty in several blocks": (b"", lambda: frame(blocks=block(b"", last=False) * 3 + block(b""))),
}
for name, (content, stored) in FRAMES.items():
    add(f"frame: {name}", blob(content, stored()))
for name, letters in {
    "NUL": "a\0b",
    "byte order mark": "\ufeff",
    "noncharacters": "\ufffe\uffff\U0010ffff",
    "last before the surrogates": "\ud7ff\ue000",
    "unnormalised": "e\u0301",
}.items():
    add(f"text: {name}", blob(letters.encode(), compress(letters.encode()), "caption"))


def dense_values(dtype: str, values: np.ndarray[Any, Any], **extra: Any) -> Break:
    """Replaces the first field by five records of one dtype."""

    def change(cache: Cache) -> None:
        item = Field("dense", "dense", dtype, shape=values.shape[1:], **extra)
        cache.fields[0] = fill(item, [values[i, ...] for i in range(5)], cache.counts)

    return change


add("NaN payloads and minus zero", dense_values("float32", np.arange(0x7F800001, 0x7F800006, dtype="<u4")))
add("minus zero", dense_values("float64", np.full(5, 1 << 63, "<u8")))
add("a bool of 2", dense_values("bool", np.array([0, 1, 2, 255, 1], "u1")), also="R052")
for dtype, size in (("float8_e4m3fn", "u1"), ("float8_e5m2", "u1"), ("float16", "<u2"), ("complex64", "<u8")):
    add(f"all bits of {dtype}", dense_values(dtype, np.arange(250, 255, dtype=size)))
for delta in (1, 4, 255):
    bytes_of = np.stack([ramp("u1", (4,), start) for start in range(250, 255)])
    add(f"delta {delta} of 4 bytes", dense_values("uint8", bytes_of, codec="zstd", delta=delta))


# Metadata.
def packed(edit: Callable[[dict[str, Packed]], object]) -> Callable[[ArrowFile], None]:
    return lambda file: setattr(file, "edit_packed", lambda columns, number: edit(columns))


def batch(edit: Callable[[Batch], object]) -> Callable[[ArrowFile], None]:
    return lambda file: setattr(file, "edit_batch", lambda found, number: edit(found))


def bitmaps(file: ArrowFile) -> None:
    for column in file.columns:
        column.bitmap = True


def trailing_bits(columns: dict[str, Packed]) -> None:
    columns["int64"].buffers[0][0] |= 0xE0
    columns["bool"].buffers[1][0] |= 0xE0


def longer(columns: dict[str, Packed]) -> None:
    for item in columns.values():
        item.buffers[-1].extend(b"\xa5" * 16)


def spread(columns: dict[str, Packed]) -> None:
    """A second data buffer, used by the last row."""
    item = columns["utf8_view"]
    item.buffers.append(item.buffers[2][27:])
    item.put(1, "ii", 4 * 16 + 8, 1, 0)


def gap(found: Batch) -> None:
    found.body += bytes(128)


def overlapping(columns: dict[str, Packed]) -> None:
    """The last row's text begins inside the other one's."""
    item = columns["utf8_view"]
    item.put(1, "i4sii", 4 * 16, 13, bytes(item.buffers[2][2:6]), 0, 2)


def shared(file: ArrowFile) -> None:
    file.edit_packed = lambda columns, number: overlapping(columns)
    file.column("utf8_view").values[4] = "string longer than twelve"[:13]


def one_more(name: str) -> Callable[[ArrowFile], None]:
    return lambda file: file.columns.insert(0, Column(name, TYPES["int8"], [1, 2, 3, 4, 5]))


METADATA: dict[str, Callable[[ArrowFile], object]] = {
    "aligned to 8 bytes": lambda file: setattr(file, "align", 8),
    "bitmaps without nulls": bitmaps,
    "bits behind the last row": packed(trailing_bits),
    "buffers longer than their rows": packed(longer),
    "two buffers of one view column": packed(spread),
    "views that overlap": shared,
    "a gap at the end of the body": batch(gap),
    "an empty buffer at the end of the body": batch(
        lambda found: found.range_of("plain", 0).__setitem__(0, len(found.body))
    ),
    "weights all 0": lambda file: setattr(file.column("weight"), "values", [0.0] * 5),
    "weight minus 0": lambda file: setattr(file.column("weight"), "values", [-0.0] * 5),
    "NaN and infinity": lambda file: setattr(
        file.column("float64"), "values", [float("nan"), None, float("inf"), float("-inf"), -0.0]
    ),
    "one column": lambda file: setattr(file, "columns", file.columns[-1:]),
    "one row of bits": lambda file: setattr(file.column("bool"), "values", [None] * 5),
    "an empty list at a place for 4 bytes": footer(lambda found: found.behind.update({2: 4})),
}
for name, edit in METADATA.items():
    add(f"metadata: {name}", meta(edit))
for name in ("a" * 255, "Weight", "CACHE_ID", "RAG", "a b", "日本語", "\u00a0", "0", "x_", "i\n"):
    add(f"metadata: column {name!r}", meta(one_more(name)))


def rowless(cache: Cache) -> None:
    without_samples(unchanged)(cache)
    with_metadata(cache, table(0))


add("metadata without rows", rowless)
FULL_SHARD = Accepted("a shard of 2^20 samples", main, void_shards(2**20))
