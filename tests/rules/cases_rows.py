"""R041, R043, R044: the chunks of metadata.arrow, its rows and its batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrow_columns import (
    TYPES,
    Column,
)
from .arrow_file import ArrowFile
from .case import Break, Table, manifest
from .forge import CHUNK, Cache
from .goods import TALL, main, table, tall, tall_numbers, tall_table, with_metadata

TABLE = Table("metadata")
ROWS = 5


def meta(edit: Callable[[ArrowFile], object], rows: int = ROWS) -> Break:
    """Breaks the metadata of the main cache."""

    def change(cache: Cache) -> None:
        file = table(rows)
        edit(file)
        with_metadata(cache, file)

    return change


def add(rule: str, name: str, edit: Callable[[ArrowFile], object], **where: Any) -> None:
    TABLE.add(rule, name, meta(edit), **where)


def tall_case(edit: Callable[[ArrowFile], object]) -> Callable[[], Cache]:
    def make() -> Cache:
        file = tall_table()
        edit(file)
        return tall(file)

    return make


def nothing(_: Any) -> None:
    """A tall case is broken where it is made: its metadata is built once."""


# R041
def chunk(number: int, digest: str) -> Break:
    return manifest(lambda values: values["metadata"]["chunks"].__setitem__(number, digest))


def damaged(place: Callable[[bytes], int]) -> Break:
    """Flips a bit of the file; the chunk digests stay."""

    def flip(content: bytes) -> bytes:
        at = place(content)
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    def change(cache: Cache) -> None:
        cache.edit_metadata = flip

    return change


TABLE.add("R041", "digest of another chunk", chunk(0, "0" * 64), column="int64")
TABLE.add("R041", "first byte", damaged(lambda content: 0), column="int64")
TABLE.add("R041", "unused byte after the magic", damaged(lambda content: 6), column="int64")
TABLE.add("R041", "a byte in the middle", damaged(lambda content: len(content) // 2), column="int64")
TABLE.add("R041", "last byte", damaged(lambda content: len(content) - 1), column="int64")


def wide() -> Cache:
    """Five rows of 1.2 MB each: two chunks, of which row 0 needs the first alone."""
    cache = main()
    rows = [bytes([number]) * 1_200_000 for number in range(ROWS)]
    return with_metadata(cache, ArrowFile([Column("c", TYPES["binary_view"], rows)], ROWS))


WIDE: dict[str, Any] = {"base": wide}
TABLE.add("R041", "second chunk, its digest", chunk(1, "0" * 64), column="c", **WIDE)
TABLE.add("R041", "second chunk, its first byte", damaged(lambda content: CHUNK), column="c", **WIDE)
TABLE.add(
    "R041", "second chunk, its last byte", damaged(lambda content: len(content) - 1), column="c", **WIDE
)
TABLE.add("R041", "first chunk, its first byte", damaged(lambda content: 0), column="c", **WIDE)
TABLE.add("R041", "first chunk, its last byte", damaged(lambda content: CHUNK - 1), column="c", **WIDE)
TABLE.add(
    "R041",
    "chunk digests exchanged",
    manifest(lambda values: values["metadata"]["chunks"].reverse()),
    column="c",
    **WIDE,
)

# R043 and R044. What has the wrong number of rows is a good file otherwise.
for rows in (4, 1):
    TABLE.add("R043", f"{rows} rows for 5 samples", meta(nothing, rows), column="int64")


def rows(count: int) -> Callable[[ArrowFile], None]:
    def edit(file: ArrowFile) -> None:
        file.columns = [Column("n", TYPES["int64"], np.arange(count))]
        file.rows = count

    return edit


add("R043", "6 rows for 5 samples", rows(6), column="n")
add("R043", "no rows for 5 samples", rows(0), column="n")


@TABLE.case("R043", "a row for no samples", base=lambda: with_metadata(Cache(fields=main().fields), table(1)))
def _(cache: Cache) -> None:
    for item in cache.fields:
        item.shards = []


@TABLE.case(
    "R043",
    "a row too few in the second batch",
    base=lambda: tall(ArrowFile([Column("n", TYPES["int64"], tall_numbers()[:-1])], TALL - 1)),
    column="n",
)
def _(cache: Cache) -> None:
    pass


def batches(*counts: int) -> Callable[[ArrowFile], None]:
    return lambda file: setattr(file, "batch_rows", list(counts))


add("R044", "two short batches", batches(3, 2), column="int64")
add("R044", "an empty batch after the last", batches(5, 0), column="int64")
add("R044", "an empty batch before the first", batches(0, 5), column="int64")
add("R044", "a batch for each row", batches(1, 1, 1, 1, 1), column="int64")
for name, counts in {
    "one long batch": (TALL,),
    "first batch one too short": (262_143, 3),
    "first batch one too long": (262_145, 1),
}.items():
    TABLE.add("R044", name, nothing, base=tall_case(batches(*counts)), column="c")


@TABLE.case(
    "R044",
    "an empty batch for no samples",
    base=lambda: with_metadata(
        Cache(fields=[main().field("rag")]), ArrowFile([Column("n", TYPES["int64"], [])], 0, batch_rows=[0])
    ),
)
def _(cache: Cache) -> None:
    cache.fields[0].shards = []
