"""All vectors before one reader."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dsrt_format.conformance.compare import differences
from dsrt_format.conformance.reader import OpenCache
from dsrt_format.conformance.vectors import Vector, each, matching

__all__ = ["Problem", "run"]

_MAX_PER_VECTOR = 10


@dataclass(frozen=True)
class Problem:
    """A vector whose answer is wrong.

    Attributes:
        vector: The name of the vector, such as ``"bad/R033-first-byte"``.
        message: What came, and what was expected.
    """

    vector: str
    message: str

    def __str__(self) -> str:
        return f"{self.vector}: {self.message}"


def run(open_cache: OpenCache, *, only: str | Iterable[str] | None = None) -> list[Problem]:
    """Show vectors to a reader and return every wrong answer; an empty list means that it conforms.

    Good vectors must be read to the last bit. Of bad ones that a reader must refuse, whatever is not listed
    as readable must raise an exception with one of the vector's rules; what is listed may be refused with
    it, too, by a reader that gives all or nothing. Of those only a validator judges, all must be read.

    A reader that blocks or crashes takes this process with it: run such a one as a program of its own, see
    `dsrt_format.conformance.program.Program`.

    Args:
        open_cache: Opens a cache with the reader.
        only: Names of the vectors to show, or patterns of names such as ``"bad/R03*"``; by default all.
            Large ones and those that cannot be shipped are made in a temporary directory meanwhile.

    Raises:
        ValueError: `only` fits no vector.
    """
    shown = frozenset(matching(only))
    return [problem for vector in each(shown.__contains__) for problem in _problems(vector, open_cache)]


def _problems(vector: Vector, open_cache: OpenCache) -> Iterator[Problem]:
    messages = differences(str(vector.path), vector.expected, open_cache)
    for message in itertools.islice(messages, _MAX_PER_VECTOR):
        yield Problem(vector.name, message)
    if rest := sum(1 for _ in messages):
        yield Problem(vector.name, f"{rest} more")
