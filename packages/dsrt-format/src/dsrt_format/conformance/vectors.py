"""The vectors: those that are shipped beside this package, and those that are made when they are needed."""

import fnmatch
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dsrt_format.conformance.expectation import Expected

__all__ = ["FOLDER", "Vector", "each", "matching", "names"]

FOLDER = Path(__file__).parent.parent / "vectors"
"""Where the shipped vectors lie."""


@dataclass(frozen=True)
class Vector:
    """A cache and what must come out of it.

    Attributes:
        name: ``"good/..."`` or ``"bad/..."``.
        path: The directory of the cache.
        expected: The content of expected.json.
    """

    name: str
    path: Path
    expected: Expected


def names() -> list[str]:
    """Return the names of all vectors of one cache, sorted."""
    from dsrt_format.conformance.made import RECIPES

    shipped = [f"{place.parent.parent.name}/{place.parent.name}" for place in FOLDER.glob("*/*/cache")]
    return sorted([*shipped, *RECIPES])


def matching(only: str | Iterable[str] | None) -> list[str]:
    """Return the names that are, or fit, one of `only`; all names if it is None.

    Raises:
        ValueError: `only` fits no vector.
    """
    if only is None:
        return names()
    patterns = [only] if isinstance(only, str) else list(only)
    found = [name for name in names() if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    if not found:
        raise ValueError(f"no vector is called {patterns!r}")
    return found


def each(wanted: Callable[[str], bool] = lambda name: True) -> Iterator[Vector]:
    """Yield the vectors whose names are wanted. One that is made is gone when the next is asked for."""
    from dsrt_format.conformance.made import RECIPES

    for name in filter(wanted, names()):
        if name not in RECIPES:
            expected = json.loads((FOLDER / name / "expected.json").read_text("utf-8"))
            yield Vector(name, FOLDER / name / "cache", expected)
        else:
            with tempfile.TemporaryDirectory(prefix="dsrt-vector-") as folder:
                path = Path(folder) / "cache"
                about, make = RECIPES[name]
                yield Vector(name, path, {**make(path), "about": about})
