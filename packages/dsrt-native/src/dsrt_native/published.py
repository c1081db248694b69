"""What is there where a cache is to be built, and whether it is what a source would give."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dsrt_format import (
    CacheExistsError,
    Dense,
    FormatError,
    Manifest,
    NotPublishedError,
    Ragged,
    StaleCacheError,
)
from dsrt_format.fields import FieldSpec
from dsrt_format.schema import check_columns, check_fields
from dsrt_native.cache import Cache
from dsrt_native.sources import Source

__all__ = ["OnStale", "Published", "is_wanted", "published"]

OnStale = Literal["error", "rebuild", "reuse"]

Schema: TypeAlias = dict[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Published:
    """A cache that is there; its schema is None where it is not whole."""

    path: Path
    manifest: Manifest
    schema: Schema | None


def published(path: Path, on_stale: OnStale) -> Published | None:
    """Return the cache at a path, or None if nothing is there.

    That the files have their lengths is found out, too: what is reused must be whole.

    Raises:
        CacheExistsError: Something is there that is no cache.
        FormatError: The cache is damaged, or not whole and not to be rebuilt.
    """
    if not os.path.lexists(path):
        return None
    try:
        manifest = Manifest.load(path)
    except NotPublishedError:
        raise CacheExistsError(
            f"{path} exists and is not a cache, so it is left alone; choose another root, or remove it"
        ) from None
    try:
        with Cache.open(path) as cache:
            fields = {name: (field.kind, field.dtype, field.shape) for name, field in cache.fields.items()}
            return Published(path, manifest, fields | _columns(cache._columns()))
    except FormatError as error:
        if on_stale != "rebuild":
            error.add_note("on_stale='rebuild' replaces this cache, which is not whole")
            raise
        return Published(path, manifest, None)


def is_wanted(found: Published, source: Source, fingerprint: str | None, on_stale: OnStale) -> bool:
    """Return whether the cache that is there is to be used; False means that it is to be replaced.

    It is where name, fingerprint and schema are the source's. How records are encoded, and attributes, are
    not looked at: the samples are the same ones.

    Raises:
        CacheExistsError: There is no fingerprint to compare by, and nobody said what to do then.
        StaleCacheError: It is another one, and nobody said what to do then.
    """
    manifest = found.manifest
    same = manifest.name == source.name and fingerprint is not None and manifest.fingerprint == fingerprint
    difference = _difference(found.schema, _wanted(source)) if same and found.schema is not None else None
    if same and found.schema is not None and difference is None:
        return True
    if on_stale != "error":
        return on_stale == "reuse"
    choices = (
        "on_stale='rebuild' replaces it, on_stale='reuse' takes it as it is, "
        "and a source of another name is built beside it"
    )
    if fingerprint is None:
        raise CacheExistsError(
            f"{found.path} is a published cache, and the source has no fingerprint to compare it by. Give "
            f"the source one, see dsrt_format.fingerprint; or: {choices}"
        )
    if difference is not None:
        raise StaleCacheError(
            f"{found.path} has the fingerprint of the source and another schema: {difference}. {choices}"
        )
    raise StaleCacheError(
        f"{found.path} was built from something else: its name is {manifest.name!r} and its fingerprint "
        f"{manifest.fingerprint!r}, the source's are {source.name!r} and {fingerprint!r}. {choices}"
    )


def _wanted(source: Source) -> Schema:
    check_fields(source.fields)
    check_columns(source.metadata, source.fields)
    return {name: _described(spec) for name, spec in source.fields.items()} | _columns(source.metadata)


def _described(spec: FieldSpec) -> tuple[Any, ...]:
    if isinstance(spec, Dense):
        return spec.kind, spec.dtype, spec.shape
    return spec.kind, spec.dtype, (None,) * (spec.ndim if isinstance(spec, Ragged) else 1)


def _columns(columns: Mapping[str, str]) -> Schema:
    return {name: ("metadata", kind) for name, kind in columns.items()}


def _difference(found: Schema, wanted: Schema) -> str | None:
    """Return in words where two schemas differ, or None."""
    for name in [*wanted, *found]:
        if found.get(name) != wanted.get(name):
            there, here = (_words(schema.get(name)) for schema in (found, wanted))
            return f"{name!r} is {there} in the cache, and {here} in the source"
    return None


def _words(described: tuple[Any, ...] | None) -> str:
    if described is None:
        return "missing"
    kind, dtype, *shape = described
    return f"{kind} {dtype}" + (f" {shape[0]}" if shape and kind in ("dense", "ragged") else "")
