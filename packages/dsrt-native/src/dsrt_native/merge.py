"""One cache made of several."""

import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dsrt_format.schema import check_fingerprint, check_name
from dsrt_native import _native
from dsrt_native.attributes import attributes_json
from dsrt_native.cache import Cache

__all__ = ["merge"]


def merge(
    parts: Iterable[str | os.PathLike[str] | Cache],
    path: str | os.PathLike[str],
    *,
    link: bool = True,
    fingerprint: str | None = None,
    attributes: Mapping[str, Any] = MappingProxyType({}),
) -> Cache:
    """Put published caches together as one: the samples of the first part, then of the second, and so on.

    Shard files are linked where the file system can do that: microseconds a file, no space, no payload read.
    Elsewhere they are copied and proven. `path` appears complete by one rename, or not at all. The parts may
    be removed afterwards.

    The whole is a cache of its own, with a name and a `cache_id` of its own: selections and states that were
    saved for the parts do not apply to it.

    Args:
        parts: Paths of caches, or open ones, in order. All have the same payload fields, with equal kinds,
            dtypes, shapes, codecs and dictionaries (their order is that of the first part), and the same
            metadata columns in the same order. `train_dictionary` makes a dictionary that parts can share.
        path: Where the whole will be; as for `CacheWriter`.
        link: Whether files are linked; False copies all, for a whole that must share nothing with its parts.
        fingerprint: Whatever identifies code and inputs of the whole.
        attributes: Free JSON, kept in the manifest of the whole. Those of the parts are not.

    Returns:
        The whole, open.

    Raises:
        FormatError: The parts do not go together (R070, R071); or one is damaged, as far as that is seen:
            every length and header, all metadata, the dictionary, and every byte where files are copied.
            Cache, field and shard are attributes of the error, where known.
        NotPublishedError: There is no cache at the path of a part.
        StaleCacheError: A part was replaced by another cache since it was opened.
        CacheExistsError: Something is at `path`, or in ``.<name>.building`` beside it.
        CacheLockedError: Another process writes there.
        SchemaError: A name, fingerprint or attributes that a cache cannot have.
        ValueError: There are no parts, or more files than a manifest can list. Or a part lies where the whole
            is made, or `path` in a published cache.
        OSError: A file cannot be read, linked or written.
        TypeError: `parts` is one path and no list of them, or an argument has another type.
    """
    if isinstance(parts, str | bytes | os.PathLike | Cache):
        raise TypeError(f"parts: expected a list of paths or caches, not {parts!r}")
    check_name(Path(path).name)
    found = _native.merge(
        [_path_of(part) for part in parts],
        path,
        link=link,
        fingerprint=check_fingerprint(fingerprint),
        attributes=attributes_json(attributes),
    )
    try:
        for warning in found:
            warnings.warn(warning, RuntimeWarning, stacklevel=2)
    except RuntimeWarning as error:  # if that is how warnings are filtered
        error.add_note(f"{path}: the cache was published all the same")
        raise
    return Cache.open(path)


def _path_of(part: str | os.PathLike[str] | Cache) -> str:
    if isinstance(part, Cache):
        # Reads the manifest anew, and raises where that is another one.
        _ = part.manifest
        return part._path
    text = os.fspath(part)
    if not isinstance(text, str):
        raise TypeError(f"parts: expected paths that are str, not {part!r}; os.fsdecode makes one")
    return text
