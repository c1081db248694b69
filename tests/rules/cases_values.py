"""R007 to R021: the values of the manifest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Break, Table, manifest
from .cases_keys import field_of
from .forge import Cache, Field, Record, Shard
from .frames import frame
from .goods import fill

TABLE = Table("open")
NOT_NAMES = {
    "empty": "",
    "of 64 letters": "a" * 64,
    "with a dot": "a.b",
    "beginning with a hyphen": "-a",
    "with a blank": "a b",
    "with a slash": "a/b",
    "with a backslash": "a\\b",
    "with a colon": "a:b",
    "dot": ".",
    "dot dot": "..",
    "ending in a newline": "a\n",
    "with a letter outside ASCII": "größe",
    "with a digit outside ASCII": "a\u0661",
    "con": "con",
    "NUL": "NUL",
    "Aux": "Aux",
    "prn": "prn",
    "com0": "com0",
    "COM9": "COM9",
    "lpt1": "lpt1",
}
NOT_FIELDS = {
    "cache_id": "cache_id",
    "sample_id": "sample_id",
    "weight": "weight",
    "with an underscore first": "_x",
}


def rename_cache(name: str) -> Break:
    def change(cache: Cache) -> None:
        cache.name = name

    return change


def rename(old: str, new: str) -> Break:
    def change(cache: Cache) -> None:
        cache.field(old).name = new

    return change


for label, name in NOT_NAMES.items():
    TABLE.add("R007", f"cache name {label}", rename_cache(name))
    TABLE.add("R007", f"field name {label}", rename("dense", name))
for label, name in NOT_FIELDS.items():
    # A column is called weight here, and must not be called as a field is.
    also = frozenset({"R045"} if name == "weight" else ())
    TABLE.add("R007", f"field name {label}", rename("dense", name), also=also)
TABLE.add("R007", "cache name with a NUL", rename_cache("a\0"))
TABLE.add("R007", "field name with a NUL", manifest(lambda values: values["fields"][0].update(name="a\0")))

TABLE.add("R008", "two fields differ in case only", rename("half", "RAG"))
TABLE.add("R008", "one letter differs in case", rename("half", "feaT"))


@TABLE.case("R008", "a field twice")
def _(cache: Cache) -> None:
    cache.fields.append(cache.field("rag"))


def void_shards(*counts: int) -> Callable[[Cache], None]:
    """Leaves one field of empty records, in shards of these sizes."""

    def change(cache: Cache) -> None:
        cache.fields = [Field("x", "dense", "uint8", shape=(0,))]
        cache.fields[0].values = [np.zeros(0, np.uint8)] * sum(counts)
        cache.fields[0].shards = [Shard([Record(b"")] * count) for count in counts]
        cache.counts = list(counts)
        cache.metadata = None
        cache.columns = {}

    return change


TABLE.add("R010", "a shard of no samples", void_shards(3, 0, 2), shard=1)
TABLE.add("R010", "the last shard of no samples", void_shards(0), shard=0)
TABLE.add("R010", "a shard of 2^20 + 1 samples", void_shards(2**20 + 1), shard=0)
TABLE.add("R010", "a shard of -1 samples", manifest(lambda values: values.update(shards=[6, -1])), shard=1)
TABLE.add(
    "R010",
    "a shard of 2^62 samples",
    manifest(lambda values: values.update(shards=[3, 2**62], samples=2**62 + 3)),
    shard=1,
    also=frozenset({"R043"}),
)

ROWS = frozenset({"R043"})  # metadata has as many rows as there are samples really
for label, samples in {
    "one more": 6,
    "one less": 4,
    "none": 0,
    "negative": -5,
    "the largest int": 2**63 - 1,
}.items():
    TABLE.add(
        "R011", f"samples {label}", manifest(lambda values, n=samples: values.update(samples=n)), also=ROWS
    )


def metadata(**entry: object) -> Break:
    return manifest(lambda values: values["metadata"].update(entry))


DIGEST = "0" * 64
TABLE.add("R012", "metadata of 0 bytes", metadata(bytes=0, chunks=[]))
TABLE.add("R012", "metadata of 0 bytes in a chunk", metadata(bytes=0))
TABLE.add("R012", "metadata of -1 bytes", metadata(bytes=-1))
TABLE.add("R012", "no chunk", metadata(chunks=[]))
TABLE.add("R012", "a chunk too many", manifest(lambda values: values["metadata"]["chunks"].append(DIGEST)))
TABLE.add("R012", "a byte over one chunk", metadata(bytes=(4 << 20) + 1))
TABLE.add("R012", "4 MiB in two chunks", metadata(bytes=4 << 20, chunks=[DIGEST] * 2))
TABLE.add("R012", "the largest int of bytes", metadata(bytes=2**63 - 1))


def many_fields(number: int) -> Break:
    def change(cache: Cache) -> None:
        cache.fields = [
            fill(Field(f"f{place}", "dense", "uint8"), [np.array(place % 256, np.uint8)] * 5, [3, 2])
            for place in range(number)
        ]

    return change


TABLE.add("R013", "no fields", many_fields(0))
TABLE.add("R013", "257 fields", many_fields(257))


def field_edit(of: str, **entry: object) -> Break:
    return manifest(lambda values: field_of(values, of).update(entry))


def drop_keys(of: str, *keys: str, **entry: object) -> Break:
    """Removes keys of a field and index_blake3 of its files, then sets others."""

    def edit(values: dict[str, Any]) -> None:
        item = field_of(values, of)
        for key in keys:
            del item[key]
        for file in item["files"]:
            file.pop("index_blake3", None)
        item.update(entry)

    return manifest(edit)


for kind in ("Dense", "", "list", "dense ", "string"):
    TABLE.add("R014", f"kind {kind!r}", field_edit("rag", kind=kind), field="rag")
TABLE.add("R014", "kind unknown, without shape or ndim", drop_keys("rag", "ndim", kind="sparse"), field="rag")
TABLE.add("R014", "kind unknown, with shape and ndim", field_edit("dense", kind="x", ndim=1), field="dense")
for codec in ("lz4", "", "ZSTD", "none", "zstd-dict "):
    TABLE.add("R015", f"codec {codec!r}", field_edit("feat", codec=codec), field="feat")
TABLE.add("R015", "codec unknown, with a dictionary", field_edit("tokens", codec="zstd-ldm"), field="tokens")
TABLE.add(
    "R015", "codec unknown, index undigested", drop_keys("tokens", "dictionary", codec="x"), field="tokens"
)
for dtype in ("Uint16", "u2", "<u2", "uint24", "object", "", "float8_e4m3", "float128", "str", "int4"):
    TABLE.add("R016", f"dtype {dtype!r}", field_edit("dense", dtype=dtype), field="dense")
TABLE.add("R016", "bytes of int8", field_edit("jpeg", dtype="int8"), field="jpeg")
TABLE.add("R016", "text of bool", field_edit("title", dtype="bool"), field="title")
TABLE.add("R016", "text of uint16", field_edit("caption", dtype="uint16"), field="caption")

for delta in (0, 256, -1, 2**63 - 1):
    TABLE.add("R017", f"delta {delta}", field_edit("grid", delta=delta), field="grid")
TABLE.add("R017", "delta on float32", field_edit("feat", delta=4), field="feat")
TABLE.add("R017", "delta on int8", field_edit("grid", dtype="int8"), field="grid")
TABLE.add("R017", "delta on bool", field_edit("grid", dtype="bool"), field="grid")
TABLE.add("R017", "delta with codec raw, bytes", field_edit("jpeg", delta=1), field="jpeg")


@TABLE.case("R017", "delta with codec raw, dense", field="dense")
def _(cache: Cache) -> None:
    fixed = Field("dense", "dense", "uint8", shape=(2,))
    cache.fields[0] = fill(fixed, [np.zeros(2, np.uint8)] * 5, [3, 2])
    fixed.delta = 1


def dense_shape(*shape: int, dtype: str = "uint8") -> Break:
    """A dense field of that shape whose records are empty."""

    def change(cache: Cache) -> None:
        shards = [Shard([Record(b"")] * count) for count in cache.counts]
        cache.fields[0] = Field("dense", "dense", dtype, shape=shape, shards=shards)

    return change


def without_samples(edit: Break) -> Break:
    """The same in a cache that has no shards."""

    def change(cache: Cache) -> None:
        edit(cache)
        cache.counts, cache.metadata = [], None
        for item in cache.fields:
            item.shards, item.values = [], []

    return change


for label, change in {
    "32 axes": dense_shape(0, *[1] * 31),
    "negative axis": field_edit("dense", shape=[-2, 3]),
    "two negative axes": field_edit("dense", shape=[-2, -3]),
    "product over 2^48 beside a zero": dense_shape(0, 2**48 + 1),
    "product over 2^48 with its itemsize": dense_shape(0, 2**45 + 1, dtype="complex64"),
    "product of 2^64 beside a zero": dense_shape(2**32, 0, 2**32),
    "product of 2^126": dense_shape(0, 2**62, 2**62, 4),
    "the largest int": field_edit("dense", shape=[2**63 - 1]),
    "over 2^48, no samples": without_samples(dense_shape(2**48 + 1)),
    "2^64, no samples": without_samples(dense_shape(2**32, 2**32)),
    "32 axes, no samples": without_samples(dense_shape(*[1] * 32)),
}.items():
    TABLE.add("R018", f"dense: {label}", change, field="dense")


def ragged_axes(ndim: int) -> Break:
    def change(cache: Cache) -> None:
        place = [item.name for item in cache.fields].index("rag")
        values = [np.zeros((1,) * ndim, "<i2")] * 5
        cache.fields[place] = fill(Field("rag", "ragged", "int16", ndim=ndim), values, [3, 2])

    return change


TABLE.add("R018", "ragged: no axis", ragged_axes(0), field="rag")
TABLE.add("R018", "ragged: 32 axes", ragged_axes(32), field="rag")
TABLE.add("R018", "ragged: -1 axes", field_edit("rag", ndim=-1), field="rag")
TABLE.add("R018", "ragged: 2^61 axes", field_edit("rag", ndim=2**61), field="rag")


def dictionary_of(size: int) -> Break:
    """A dictionary of that size, and frames that do not use it."""

    def change(cache: Cache) -> None:
        item = cache.field("tokens")
        item.dictionary = bytes(size)
        for sample, value in enumerate(item.values):
            cache.record("tokens", sample).stored = frame(value.tobytes())

    return change


TABLE.add("R019", "dictionary of 71 bytes", dictionary_of(7), field="tokens")
TABLE.add("R019", "dictionary of 1,048,641 bytes", dictionary_of((1 << 20) + 1), field="tokens")
for size in (0, -1, 64, 2**63 - 1):
    TABLE.add(
        "R019",
        f"dictionary.bytes {size}",
        manifest(lambda values, size=size: field_of(values, "tokens")["dictionary"].update(bytes=size)),
        field="tokens",
    )


@TABLE.case("R020", "a file too many", field="rag")
def _(cache: Cache) -> None:
    cache.field("rag").shards.append(cache.field("rag").shards[0])


@TABLE.case("R020", "a file too few", field="rag")
def _(cache: Cache) -> None:
    cache.field("rag").shards.pop()


TABLE.add(
    "R020", "no files", manifest(lambda values: field_of(values, "dense").update(files=[])), field="dense"
)


@TABLE.case("R020", "files without shards", field="x")
def _(cache: Cache) -> None:
    cache.counts, cache.metadata = [], None
    cache.fields = [Field("x", "dense", "uint8", shards=[Shard([])])]


def pad(of: str, size: int) -> Break:
    def change(cache: Cache) -> None:
        cache.field(of).shards[1].pad = bytes(size)

    return change


def body(of: str, edit: Callable[[bytes], bytes]) -> Break:
    def change(cache: Cache) -> None:
        cache.field(of).shards[1].edit_body = edit

    return change


def length(of: str, number: int, size: int) -> Break:
    return manifest(lambda values: field_of(values, of)["files"][number].update(bytes=size))


# dense: 2 records of 12 bytes need no pad. rag: 14 bytes of records, 2 of pad, 2 entries of 20.
for label, change, of in (
    ("fixed, 8 bytes of pad too many", pad("dense", 8), "dense"),
    ("fixed, a byte of pad too many", pad("dense", 1), "dense"),
    ("fixed, pad missing", pad("half", 0), "half"),
    ("fixed, a record missing", body("dense", lambda content: content[12:]), "dense"),
    ("indexed, index at an odd place", pad("rag", 3), "rag"),
    ("indexed, pad missing", pad("rag", 0), "rag"),
    ("indexed, index inside the header", body("rag", lambda content: content[-32:]), "rag"),
    ("indexed, file shorter than its header", length("rag", 1, 8), "rag"),
    ("indexed, index longer than the file", length("rag", 1, 64 + 32), "rag"),
    ("fixed, length 0", length("dense", 1, 0), "dense"),
    ("fixed, length negative", length("dense", 1, -64), "dense"),
    ("indexed, length negative", length("rag", 1, -64), "rag"),
    ("fixed, the largest int", length("dense", 1, 2**63 - 1), "dense"),
):
    TABLE.add("R021", label, change, field=of, shard=1)


@TABLE.case("R021", "fixed, length right modulo 2^64", field="x", shard=0)
def _(cache: Cache) -> None:
    # 2^16 records of 2^48 bytes are 2^64 bytes: in 64 bits only their checksums remain.
    void_shards(2**16)(cache)
    cache.fields[0].shape = (2**48,)
