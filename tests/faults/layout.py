"""Which bytes of a sound cache are what: the regions that faults aim at and outcomes are counted by."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dsrt_format.dtypes import ITEMSIZE
from dsrt_format.flatbuffer import Table

CHANCES = {
    "manifest": 3,
    "header": 3,
    "payload": 6,
    "pad": 1,
    "index": 6,
    "dictionary": 3,
    "metadata: flatbuffers": 3,
    "metadata: bitmap": 2,
    "metadata: values": 3,
    "metadata: views": 2,
    "metadata: data": 2,
    "metadata: gaps": 1,
}
"""The regions, and how often each is aimed at where a cache has them."""


@dataclass(frozen=True)
class Span:
    """Bytes `start` to `end` of a file."""

    file: str
    start: int
    end: int

    @property
    def length(self) -> int:
        """How many bytes."""
        return self.end - self.start


@dataclass(frozen=True)
class Layout:
    """The spans of each region, and what the manifest says of each shard file."""

    spans: dict[str, list[Span]]
    entries: dict[str, tuple[dict[str, Any], int]]
    """By shard file: the field's entry in the manifest, and the number of records."""

    @classmethod
    def of(cls, files: dict[str, bytes]) -> Layout:
        """Return the layout of a sound cache."""
        manifest = json.loads(files["manifest.json"])
        spans: dict[str, list[Span]] = {}
        entries: dict[str, tuple[dict[str, Any], int]] = {}

        def add(region: str, file: str, start: int, end: int) -> None:
            if end > start:
                spans.setdefault(region, []).append(Span(file, start, end))

        add("manifest", "manifest.json", 0, len(files["manifest.json"]))
        for field in manifest["fields"]:
            folder = f"fields/{field['name']}"
            if "dictionary" in field:
                name = f"{folder}/dictionary.bin"
                add("header", name, 0, 64)
                add("dictionary", name, 64, len(files[name]))
            for shard, count in enumerate(manifest["shards"]):
                name = f"{folder}/{shard:05d}.shard"
                entries[name] = field, count
                index = len(files[name]) - count * entry_bytes(field)
                last = _end_of_records(files[name], field, count, index)
                add("header", name, 0, 64)
                add("payload", name, 64, last)
                add("pad", name, last, index)
                add("index", name, index, len(files[name]))
        if manifest["metadata"] is not None:
            data = files["metadata.arrow"]
            for region, start, end in _metadata(data):
                add(f"metadata: {region}", "metadata.arrow", start, end)
        return cls(spans, entries)

    def region(self, file: str, at: int) -> str:
        """Return what a byte of a file is."""
        for region, spans in self.spans.items():
            if any(span.file == file and span.start <= at < span.end for span in spans):
                return region
        return "pad"


def is_fixed(field: dict[str, Any]) -> bool:
    """Whether the records of a field have a stride."""
    return bool(field["kind"] == "dense" and field["codec"] == "raw")


def entry_bytes(field: dict[str, Any]) -> int:
    """Return the bytes of an index entry of a field, as the manifest describes it."""
    axes = {"dense": 0, "ragged": field.get("ndim", 1)}.get(field["kind"], 1)
    return 4 if is_fixed(field) else 12 + 8 * axes


def record_spans(file: str, data: bytes, field: dict[str, Any], count: int) -> list[Span]:
    """Return where the stored bytes of each record of a sound shard file lie."""
    size = entry_bytes(field)
    index = len(data) - count * size
    if is_fixed(field):
        stride = _stride(field)
        return [Span(file, 64 + i * stride, 64 + (i + 1) * stride) for i in range(count)]
    ends = [64] + [
        int.from_bytes(data[index + i * size : index + i * size + 8], "little") for i in range(count)
    ]
    return [Span(file, start, end) for start, end in pairwise(ends)]


def _end_of_records(data: bytes, field: dict[str, Any], count: int, index: int) -> int:
    if not is_fixed(field):
        return int.from_bytes(data[index + (count - 1) * entry_bytes(field) :][:8], "little")
    return 64 + count * _stride(field)


def _stride(field: dict[str, Any]) -> int:
    return math.prod(field["shape"]) * ITEMSIZE[field["dtype"]]


def _metadata(data: bytes) -> list[tuple[str, int, int]]:
    """Return (what, start, end) over all of metadata.arrow; what no buffer covers is flatbuffers or gaps."""
    end = len(data) - 10
    start = end - int.from_bytes(data[end : end + 4], "little")
    footer = Table.root(memoryview(data)[start:end])
    schema = footer.table(1)
    assert schema is not None
    views = [table.scalar(2, "B", 0) in (23, 24) for table in schema.tables(1)]
    found = []
    at = 0
    for offset, head, body in struct.iter_unpack("<qixxxxq", footer.structs(3, 24)):
        found.append(("flatbuffers", at, offset + head))
        at = offset + head
        batch = Table.root(memoryview(data)[offset + 8 : offset + head]).table(2)
        assert batch is not None
        places = struct.iter_unpack("<qq", batch.structs(2, 16))
        for what, (place, length) in zip(_buffers(batch, views), places, strict=True):
            first = offset + head + place
            found += [("gaps", at, first), (what, first, first + length)] if length else []
            at = first + length if length else at
        found.append(("gaps", at, offset + head + body))
        at = offset + head + body
    return [*found, ("flatbuffers", at, len(data))]


def _buffers(batch: Table, views: list[bool]) -> list[str]:
    counts = iter(count for (count,) in struct.iter_unpack("<q", batch.structs(4, 8)))
    kinds = []
    for is_view in views:
        kinds += ["bitmap", "views", *["data"] * next(counts)] if is_view else ["bitmap", "values"]
    return kinds
