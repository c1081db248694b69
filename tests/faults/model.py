"""A sound cache as the model that can be edited and sealed anew, every digest above the edit made right."""

from __future__ import annotations

import json
import struct
from typing import Any

from tests.faults.caches import Specimen
from tests.faults.layout import entry_bytes, is_fixed, record_spans
from tests.rules.forge import Cache, Field, Record, Shard


def model(of: Specimen) -> Cache:
    """Return the model of a specimen's new build."""
    manifest = json.loads(of.new["manifest.json"])
    metadata = of.new.get("metadata.arrow")
    return Cache(
        name=manifest["name"],
        fields=[_field(of, entry, manifest["shards"]) for entry in manifest["fields"]],
        counts=list(manifest["shards"]),
        metadata=metadata,
        attributes=manifest["attributes"],
    )


def _field(of: Specimen, entry: dict[str, Any], counts: list[int]) -> Field:
    folder = f"fields/{entry['name']}"
    dictionary = of.new.get(f"{folder}/dictionary.bin")
    return Field(
        name=entry["name"],
        kind=entry["kind"],
        dtype=entry["dtype"],
        codec=entry["codec"],
        shape=tuple(entry.get("shape", ())),
        ndim=entry.get("ndim", 1),
        delta=entry.get("delta"),
        dictionary=None if dictionary is None else dictionary[64:],
        shards=[
            Shard(_records(f"{folder}/{shard:05d}.shard", of.new, entry, count))
            for shard, count in enumerate(counts)
        ],
    )


def _records(name: str, files: dict[str, bytes], entry: dict[str, Any], count: int) -> list[Record]:
    data = files[name]
    size = entry_bytes(entry)
    records = []
    for ordinal, span in enumerate(record_spans(name, data, entry, count)):
        stored = data[span.start : span.end]
        axes: tuple[int, ...] = ()
        if not is_fixed(entry):
            start = len(data) - (count - ordinal) * size
            axes = struct.unpack_from(f"<{(size - 12) // 8}Q", data, start + 12)
        records.append(Record(stored, axes))
    return records
