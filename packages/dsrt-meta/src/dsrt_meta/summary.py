"""What a dataset says about itself."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from dsrt_format import DsrtError

if TYPE_CHECKING:
    from dsrt_meta.dataset import Dataset
    from dsrt_native import Cache, Population
    from dsrt_native.field import FieldInfo

__all__ = ["text"]

# A closed cache is a RuntimeError.
_UNREADABLE = (DsrtError, OSError, RuntimeError)
_INDENT = 11
_WIDTH = 96
_SHOWN = 12


def text(dataset: Dataset) -> str:
    """Return rows, cache, fields, columns, weights, size and digest of a dataset in a few lines.

    Where damage, or a cache that was closed, keeps something from being read, its line says so.
    """
    fields = list(dataset.fields.values())
    stored, extra = _columns(dataset)
    parts = [
        ("caches", [_cache(cache) for cache in dataset.caches]),
        ("fields", _aligned([_field(field) for field in fields[:_SHOWN]]) + _rest(len(fields))),
        ("metadata", stored),
        ("extra", extra),
        ("weights", [_weights(dataset.population)]),
        ("digest", [_digest(dataset)]),
    ]
    lines = [f"Dataset: {len(dataset):,} rows"]
    for label, content in parts:
        lines += [f"  {label if i == 0 else '':<{_INDENT - 2}}{line}" for i, line in enumerate(content)]
    return "\n".join(lines)


def _columns(dataset: Dataset) -> tuple[list[str], list[str]]:
    """Return lines about the stored columns but `weight`, and about the extra ones."""
    try:
        words = dataset.population._columns()
        stored = {name for cache in dataset.caches for name in cache._columns()}
    except _UNREADABLE as error:
        # There are no extra ones: adding them reads the stored ones.
        return [f"cannot be read: {error}"], []
    return (
        _listed([f"{name} {word}" for name, word in words.items() if name in stored - {"weight"}]),
        _listed([f"{name} {word}" for name, word in words.items() if name not in stored]),
    )


def _cache(cache: Cache) -> str:
    try:
        manifest = cache.manifest
    except _UNREADABLE:
        # An open cache works on when its directory is replaced or removed.
        return f"{cache.path}: {len(cache):,} samples, no longer at this path"
    return f"{manifest.name}: {len(cache):,} samples, {_size(manifest.total_bytes)} at {cache.path}"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _field(field: FieldInfo) -> tuple[str, ...]:
    if field.kind in ("bytes", "text"):
        return field.name, field.kind, "", field.codec
    shape = ", ".join("*" if axis is None else str(axis) for axis in field.shape)
    return field.name, field.kind, f"{field.dtype}[{shape}]", field.codec


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _rest(count: int) -> list[str]:
    return [f"and {count - _SHOWN} more"] if count > _SHOWN else []


def _listed(names: list[str]) -> list[str]:
    shown = ", ".join([*names[:_SHOWN], *_rest(len(names))])
    return textwrap.wrap(shown, _WIDTH - _INDENT)


def _weights(population: Population) -> str:
    try:
        weights = population.weights
    except _UNREADABLE as error:
        return f"cannot be read: {error}"
    if weights is None:
        return "none"
    if not weights.any():
        return "all zero"
    drawn = weights[weights > 0]
    # Kish's effective sample size, of weights scaled so that no square overflows.
    scaled = drawn / drawn.max()
    effective = scaled.sum() ** 2 / (scaled**2).sum()
    low, high = (f"{end:.4g}" for end in (drawn.min(), drawn.max()))
    zero = f", {len(weights) - len(drawn):,} rows zero" if len(drawn) < len(weights) else ""
    return f"{low if low == high else f'{low} to {high}'}{zero}, effective sample size {effective:,.1f}"


def _digest(dataset: Dataset) -> str:
    try:
        return dataset.digest[:16]
    except _UNREADABLE:
        return "unknown without the weights"
