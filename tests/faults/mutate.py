"""From the number of a case to its fault: the same for the same seed, whichever process asks."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.faults import bits, caches, files
from tests.faults.caches import Specimen
from tests.faults.fault import Fault, LinkTo

_WAYS = [*bits.BY_CHANCE, *files.BY_CHANCE]


def fault(root: Path, seed: int, case: int) -> tuple[Specimen, Fault]:
    """Return the fault of a case, and the specimen in which it is to be made."""
    random = Random(f"{seed} {case}")
    names = caches.names()
    specimen = caches.specimen(root, names[case % len(names)])
    (way,) = random.choices([make for make, _ in _WAYS], [chance for _, chance in _WAYS])
    return specimen, way(random, specimen)


def changes(of: Specimen, made: Fault) -> bool:
    """Whether, after a fault, a file of the cache whose manifest lies there is missing or another."""
    now = dict(of.new)
    for name, content in made.edits.items():
        now = {one: data for one, data in now.items() if one != name and not _lies_in(one, name)}
        if isinstance(content, bytes):
            now[name] = content
        elif isinstance(content, LinkTo):
            now |= _behind(Path(content.target), name)
    return any(now.get(name) != data for name, data in of.files[made.build].items())


def _lies_in(name: str, directory: str) -> bool:
    return not directory or name.startswith(directory + "/")


def _behind(target: Path, name: str) -> dict[str, bytes]:
    if not target.is_dir():
        return {name: target.read_bytes()}
    found = {str(path.relative_to(target)): path for path in target.rglob("*") if path.is_file()}
    return {f"{name}/{rest}" if name else rest: path.read_bytes() for rest, path in found.items()}
