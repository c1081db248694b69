"""What the validator finds: problems, and the list of them with its limit per rule."""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

from dsrt_format.errors import described
from dsrt_format.rules import Violation

__all__ = ["MAX_PROBLEMS_PER_RULE", "Kind", "Level", "Problem", "Report"]

MAX_PROBLEMS_PER_RULE = 1000

Level = Literal["structure", "records", "digests"]
"""How much the validator looks at; each level finds all that the one before it finds."""

Kind = Literal["manifest", "file", "dictionary", "record", "metadata", "unknown"]

_FILE_RULES = frozenset({"R030", "R031", "R039", "R050", "R051"})


@dataclass(frozen=True)
class Problem:
    """A place where a cache breaks a rule. `str()` shows it as the errors of reading do.

    Attributes:
        rule: The id of the rule, such as ``"R033"``; see `dsrt_format.rules.RULES`.
        cache: The path of the cache as it was given.
        field: The name of the field, of R045 and R046 of the metadata column; None where it is of no one
            field; likewise below.
        shard: The number of the shard.
        sample: The position of the sample in the cache.
        message: What was found, what was expected and what to do.
        unlisted: How many problems of its rule this one stands for, as the last of a long list does; else 0.
    """

    rule: str
    cache: str
    field: str | None
    shard: int | None
    sample: int | None
    message: str
    unlisted: int = 0

    def __str__(self) -> str:
        return described(self.rule, self.message, self.cache, self.field, self.shard, self.sample)

    @property
    def kind(self) -> Kind:
        """What is damaged: the manifest, a whole file, a dictionary, one record or the metadata.

        It follows from the rule. What does not belong to the cache is of the kind ``"unknown"``.
        """
        if self.rule < "R030":
            return "manifest"
        if self.rule in _FILE_RULES:
            return "file"
        if self.rule == "R040":
            return "dictionary"
        if self.rule == "R053":
            return "unknown"
        return "metadata" if "R041" <= self.rule <= "R046" else "record"

    @property
    def is_warning(self) -> bool:
        """Whether readers ignore what was found (R053): a cache with nothing but warnings is sound."""
        return self.rule == "R053"


class Report:
    """Collects problems of one cache, at most `MAX_PROBLEMS_PER_RULE` of a rule.

    Args:
        cache: The path of the cache as it was given.
    """

    def __init__(self, cache: str) -> None:
        self._cache = cache
        self._found: list[Problem] = []
        self._counts: Counter[str] = Counter()
        self.unread: list[OSError] = []

    def add(self, violation: Violation) -> None:
        """Add a violation with its place, or count it where the list of its rule is full."""
        self._counts[violation.rule] += 1
        if self._counts[violation.rule] <= MAX_PROBLEMS_PER_RULE:
            self._found.append(
                Problem(
                    violation.rule,
                    self._cache,
                    violation.field,
                    violation.shard,
                    violation.sample,
                    violation.message,
                )
            )

    def refused(self, error: OSError) -> None:
        """Note that the system refuses a file or directory, which breaks no rule."""
        # Its frames would keep what they have read of the file.
        self.unread.append(error.with_traceback(None))

    def count(self, rule: str, more: int) -> None:
        """Count violations of a rule whose list is full."""
        if more:
            self._counts[rule] += more

    @property
    def rules(self) -> Set[str]:
        """The rules that are broken."""
        return self._counts.keys()

    def sort_by_rule(self) -> None:
        """Sort what was found so far."""
        self._found.sort(key=lambda problem: problem.rule)

    def problems(self) -> list[Problem]:
        """Return what was found, and at the end for each rule with more how many are not listed."""
        more = {rule: count - MAX_PROBLEMS_PER_RULE for rule, count in sorted(self._counts.items())}
        return self._found + [
            Problem(rule, self._cache, None, None, None, f"{count} more are not listed", unlisted=count)
            for rule, count in more.items()
            if count > 0
        ]
