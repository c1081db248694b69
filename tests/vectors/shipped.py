"""The shipped files: what the tables make, beside what lies there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import dsrt_format
from tests.vectors import bad, good, several
from tests.vectors.model import expected_bad, expected_good, files_of, slug

FOLDER = Path(dsrt_format.__file__).parent / "vectors"
SUMS = "SHA256SUMS"
NOT_SUMMED = {SUMS, "README.md"}
PARTS = ("good", "bad")


def made() -> Iterator[tuple[str, bytes]]:
    """Every file of every vector, by its path in FOLDER."""
    for vector in good.VECTORS:
        cache = vector.make()
        files = files_of(cache)
        yield from _under(f"good/{vector.name}", files, expected_good(vector, cache, files))
    for broken in bad.VECTORS:
        cache = broken.make()
        yield from _under(
            f"bad/{broken.rule}-{slug(broken.name)}", files_of(cache), expected_bad(broken, cache)
        )
    for group in several.VECTORS:
        folder = f"bad/{group.rule}-{slug(group.name)}"
        for name, cache in zip(("first", "second"), group.caches(), strict=True):
            for path, content in files_of(cache).items():
                yield f"{folder}/{name}/{path}", content
        yield f"{folder}/expected.json", _json(group.expected())


def _under(folder: str, files: dict[str, bytes], expected: object) -> Iterator[tuple[str, bytes]]:
    for path, content in files.items():
        yield f"{folder}/cache/{path}", content
    yield f"{folder}/expected.json", _json(expected)


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n").encode()


def lying() -> dict[str, bytes]:
    """Every file that lies in FOLDER, but for those that no sum is kept of."""
    found = (path for path in sorted(FOLDER.rglob("*")) if path.is_file())
    return {
        name: path.read_bytes()
        for path in found
        if (name := path.relative_to(FOLDER).as_posix()) not in NOT_SUMMED
    }


def sums(files: dict[str, bytes]) -> bytes:
    """The list of digests, as `sha256sum` writes and checks it."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "".join(lines).encode()


def differences(files: dict[str, bytes]) -> list[str]:
    """In what the shipped files differ from those that were made."""
    lies = lying()
    found = [f"{name} is made otherwise now" for name in files if name in lies and lies[name] != files[name]]
    found += [f"{name} is made and not there" for name in files if name not in lies]
    found += [
        f"{name} is there and nothing makes it"
        for name in lies
        if name not in files and name.partition("/")[0] in PARTS
    ]
    if (FOLDER / SUMS).read_bytes() != sums(lies):
        found.append(f"{SUMS} does not list what is there")
    return found


def add(files: dict[str, bytes]) -> int:
    """Write what is not there yet, and return how many files that is.

    Raises:
        ValueError: A file would be changed or is no longer made: vectors are added to and never edited.
    """
    lies = lying()
    changed = [name for name, content in files.items() if lies.get(name, content) != content]
    gone = [name for name in lies if name not in files and name.partition("/")[0] in PARTS]
    if changed or gone:
        raise ValueError(f"vectors are never edited; changed: {changed[:9]}, no longer made: {gone[:9]}")
    fresh = [name for name in files if name not in lies]
    for name in fresh:
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_bytes(files[name])
    (FOLDER / SUMS).write_bytes(sums(lying()))
    return len(fresh)
