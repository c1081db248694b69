"""Forged caches: digests right, content not. From the number of a case to an edit of the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.faults import caches
from tests.faults.caches import Specimen
from tests.faults.forged_manifests import counts, manifest, schema, text
from tests.faults.forged_numbers import Done
from tests.faults.forged_records import bomb, dictionary, entry, misplaced, stored
from tests.faults.forged_tables import table
from tests.faults.model import model
from tests.rules.forge import Cache


@dataclass
class Forgery:
    """A forged cache, to be written; `region` is what was edited.

    Edits of the manifest are made while it is written, and then say what they did in `done`.
    """

    kind: str
    region: str
    done: list[str]
    cache: Cache

    @property
    def what(self) -> str:
        """All that was done, once it is."""
        return ", ".join(self.done)


def forgery(root: Path, seed: int, case: int) -> tuple[Specimen, Forgery]:
    """Return a forged cache by its number."""
    random = Random(f"forged {seed} {case}")
    names = caches.names()
    of = caches.specimen(root, names[case % len(names)])
    while True:
        (forge,) = random.choices([way for way, _ in _WAYS], [chance for _, chance in _WAYS])
        cache = model(of)
        if (done := forge(random, cache)) is not None:
            return of, Forgery(*done, cache)


def several(random: Random, cache: Cache) -> Done | None:
    """Several of the edits of content at once."""
    done = [
        way(random, cache) for way in random.choices([entry, stored, bomb, dictionary, table, misplaced], k=3)
    ]
    return "several", "several", [words for one in done if one is not None for words in one[2]]


_WAYS = [
    (entry, 14),
    (misplaced, 4),
    (stored, 18),
    (bomb, 10),
    (dictionary, 6),
    (table, 24),
    (manifest, 10),
    (text, 5),
    (counts, 4),
    (schema, 8),
    (several, 4),
]
