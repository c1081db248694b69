"""What may happen to a file, or to a whole cache, while somebody reads it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from dsrt_native import build

from .caches import PAGE, Source

Change = Callable[[Path], object]


def cut(part: float) -> Change:
    """Cuts a file off at a part of its length; 1 takes the last byte."""

    def change(file: Path) -> None:
        file.chmod(0o644)
        size = file.stat().st_size
        os.truncate(file, min(int(part * size), size - 1))

    return change


def cut_to(size: int) -> Change:
    """Cuts a file off."""

    def change(file: Path) -> None:
        file.chmod(0o644)
        os.truncate(file, min(size, file.stat().st_size - 1))

    return change


CUTS: dict[str, Change] = {
    "to nothing": cut_to(0),
    "in the header": cut_to(40),
    "behind the header": cut_to(64),
    "at a page": cut_to(PAGE),
    "in the first quarter": cut(0.2),
    "in the middle": cut(0.5),
    "near the end": cut(0.95),
    "in the index": lambda file: cut_to(file.stat().st_size - 10)(file),
    "by a byte": cut(1),
}


def extend(file: Path) -> None:
    file.chmod(0o644)
    with file.open("ab") as out:
        out.write(b"more than there was" * 1000)


def put(file: Path, content: bytes) -> None:
    """Puts another file in its place, as a careful copy does."""
    new = file.with_name("new")
    new.write_bytes(content)
    new.replace(file)


def other_version(file: Path) -> bytes:
    """The content of the file of that name in the second version, which lies beside the cache."""
    root = next(parent for parent in file.parents if (parent / "manifest.json").exists())
    return (root.with_name("second") / "cache" / file.relative_to(root)).read_bytes()


def zeros(file: Path) -> bytes:
    return bytes(file.stat().st_size)


REPLACEMENTS: dict[str, Change] = {
    "extended": extend,
    "replaced by another build's": lambda file: put(file, other_version(file)),
    "replaced by zeros": lambda file: put(file, zeros(file)),
    "replaced by a short one": lambda file: put(file, file.read_bytes()[: file.stat().st_size // 2]),
    "deleted": Path.unlink,
}


def overwrite(file: Path) -> None:
    """Writes another build's content into the file itself, which `put` never does."""
    content = other_version(file)
    file.chmod(0o644)
    with file.open("r+b") as out:
        assert out.write(content) == file.stat().st_size


def rebuild(path: Path) -> None:
    """As our own build does: the directories change places."""
    build(Source(2), path.parent, on_stale="rebuild")


def remove_and_build(path: Path) -> None:
    shutil.rmtree(path)
    build(Source(2), path.parent)


def copy_over(path: Path) -> None:
    """Each file is replaced by the other build's, one after another, as rsync does."""
    for file in sorted(path.rglob("*")):
        if file.is_file():
            put(file, other_version(file))


def half_copied(path: Path) -> None:
    """The same, and not finished: the manifest is still the old one."""
    for file in sorted((path / "fields").rglob("*.shard"))[::2]:
        put(file, other_version(file))


REBUILDS: dict[str, Change] = {
    "rebuilt": rebuild,
    "removed and built": remove_and_build,
    "copied over": copy_over,
    "half copied over": half_copied,
    "removed": shutil.rmtree,
}
