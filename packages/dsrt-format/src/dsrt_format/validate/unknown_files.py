"""What lies in the directory of a cache and does not belong to it (R053)."""

import heapq
import os
from collections.abc import Iterator

from dsrt_format.directory import CacheDirectory
from dsrt_format.entries import METADATA_NAME
from dsrt_format.manifest import Manifest
from dsrt_format.rules import Violation
from dsrt_format.validate.problem import MAX_PROBLEMS_PER_RULE

__all__ = ["unknown_files"]

_FOLDER = "fields"


def unknown_files(directory: CacheDirectory, manifest: Manifest) -> tuple[list[Violation], int]:
    """Return R053 for paths that the manifest does not imply, sorted by path, and how many more there are.

    A name that the manifest implies belongs to the cache, whatever lies there. Nothing is opened but the
    directory itself, ``fields`` and those of fields; links are not followed.

    Raises:
        OSError: One of those cannot be listed.
    """
    count = 0

    def counted() -> Iterator[tuple[bytes, str]]:
        nonlocal count
        for path, what in _unknown(directory, manifest):
            count += 1
            yield os.fsencode(path), what

    # There may be millions, of which a thousand are listed.
    first = heapq.nsmallest(MAX_PROBLEMS_PER_RULE, counted())
    found = [
        Violation("R053", f"{_shown(path)} is {what} that does not belong to the cache; readers ignore it")
        for path, what in first
    ]
    return found, count - len(found)


def _unknown(directory: CacheDirectory, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the path inside the cache and what it is."""
    top = {"manifest.json", _FOLDER} | (set() if manifest.metadata is None else {METADATA_NAME})
    for entry in directory.entries():
        if entry.name not in top:
            yield entry.name, _what(entry)
    # A manifest may name a field twice, which is R008.
    files: dict[str, int] = {}
    dictionaries: set[str] = set()
    for field in manifest.fields:
        files[field.name] = max(len(field.files), files.get(field.name, 0))
        if field.dictionary is not None:
            dictionaries.add(field.name)
    known = []
    for entry in directory.entries(_FOLDER):
        if entry.name in files:
            known.append(entry.name)
        else:
            yield f"{_FOLDER}/{entry.name}", _what(entry)
    for name in known:
        for entry in directory.entries(f"{_FOLDER}/{name}"):
            is_dictionary = entry.name == "dictionary.bin" and name in dictionaries
            if not is_dictionary and not _is_shard(entry.name, files[name]):
                yield f"{_FOLDER}/{name}/{entry.name}", _what(entry)


def _is_shard(name: str, count: int) -> bool:
    stem, _, end = name.partition(".")
    if end != "shard" or not (stem.isascii() and stem.isdigit() and len(stem) < 20):
        return False
    return int(stem) < count and f"{int(stem):05d}" == stem


def _what(entry: "os.DirEntry[str]") -> str:
    if entry.is_symlink():
        return "a link"
    if entry.is_dir(follow_symlinks=False):
        return "a directory"
    return "a file" if entry.is_file(follow_symlinks=False) else "a special file"


def _shown(path: bytes) -> str:
    # Names may hold anything, line ends and what moves the cursor of a terminal among it.
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in path.decode(errors="backslashreplace")
    )
