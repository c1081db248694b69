"""Who decides what a reading of a damaged cache was worth: each value, each refusal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dsrt_format.errors import DsrtError, FormatError, InternalError
from tests.faults.sources import PER_SHARD
from tests.faults.truth import Bits, Truth, bits

Key = tuple[str, str, int]
"""``"field"`` or ``"column"``, its name, the sample."""

LABELS = ("refused at open", "refused at a read", "no effect")
FAILURES = (
    "silently wrong",
    "foreign exception",
    "crash",
    "timeout",
    "memory",
    "wrong place",
    "disagreement",
    "unreported",
)

_RECORD_RULES = frozenset(f"R0{number}" for number in range(32, 39))
_SHARD_RULES = frozenset({"R031", "R039"}) | _RECORD_RULES


class Judge:
    """Judges one path through one cache.

    Args:
        cache: The path as the reader is given it; every error must name it.
        truth: The values; None where they are whatever the bytes mean: then what is read twice must agree.
        place: The field and the shard that hold all of the fault, None where unknown.
        lenient: Whether every exception is a refusal: for the control, whose checks are turned off.
    """

    def __init__(
        self,
        cache: str,
        truth: Truth | None,
        place: tuple[str | None, int | None] = (None, None),
        *,
        lenient: bool = False,
    ) -> None:
        self._cache = cache
        self._truth = truth
        self._place = place
        self._lenient = lenient
        self._at_open = False
        self.seen: dict[Key, Bits] = {}
        self.refused: dict[Key, str] = {}
        self.rules: Counter[str] = Counter()
        self.failures: dict[str, list[str]] = {}

    @property
    def knows(self) -> bool:
        """Whether there is a truth from outside."""
        return self._truth is not None

    @property
    def label(self) -> str:
        """The outcome: a failure if there is one, else one of `LABELS`."""
        if self.failures:
            return next(label for label in FAILURES if label in self.failures)
        if self._at_open:
            return LABELS[0]
        return LABELS[1] if self.rules else LABELS[2]

    def fail(self, label: str, detail: str) -> None:
        """Note what must not be."""
        self.failures.setdefault(label, []).append(detail[:600])

    def record(self, field: str, sample: int, value: Any, way: str) -> None:
        """Judge a record that was read."""
        self._judge(("field", field, sample), bits(value), way)

    def records(self, field: str, values: Iterable[Any], way: str, rows: Iterable[int] | None = None) -> None:
        """Judge the records of all samples, or of those at `rows`."""
        self._many("field", field, values, way, rows)

    def cells(self, column: str, values: Iterable[Any], way: str, rows: Iterable[int] | None = None) -> None:
        """Judge the values of a column, likewise."""
        self._many("column", column, values, way, rows)

    def count(self, found: int) -> bool:
        """Judge the number of samples."""
        if self._truth is not None and found != len(self._truth):
            self.fail("silently wrong", f"{found} samples, there are {len(self._truth)}")
            return False
        return True

    @contextmanager
    def attempt(
        self,
        stage: str,
        field: str | None = None,
        sample: int | None = None,
        keys: Iterable[Key] = (),
        *,
        vast: bool = False,
    ) -> Iterator[None]:
        """Catch and judge whatever a step raises.

        Args:
            stage: ``"open"``, or how it reads.
            field: The one field that is read, if it is one.
            sample: Likewise.
            keys: What cannot be read if this fails.
            vast: Whether it asks for more memory than there is, so that a MemoryError is the right answer.
        """
        try:
            yield
        except MemoryError as error:
            self._refuse(stage, "memory", keys)
            if not self._lenient and not vast:
                self.fail("memory", f"{stage} {field} {sample}: {error!r}")
        except FormatError as error:
            self._refuse(stage, error.rule, keys)
            self._check(error, stage, field, sample)
        except DsrtError as error:
            self._refuse(stage, type(error).__name__, keys)
            # Names and types that a forged manifest changed are refused as what the caller asked for.
            if isinstance(error, InternalError) or (self._truth is not None and not self._lenient):
                self.fail("foreign exception", f"{stage} {field} {sample}: {error!r}")
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # a panic of the engine is no Exception
            self._refuse(stage, type(error).__name__, keys)
            # A forged column can have nulls where the true one has none, which an array has no place for.
            is_null = self._truth is None and type(error) is ValueError and "null" in str(error)
            if not self._lenient and not is_null:
                self.fail("foreign exception", f"{stage} {field} {sample}: {error!r}")

    def _refuse(self, stage: str, rule: str, keys: Iterable[Key]) -> None:
        self.rules[rule] += 1
        self._at_open |= stage == "open"
        for key in keys:
            self.refused.setdefault(key, rule)

    def _check(self, error: FormatError, stage: str, field: str | None, sample: int | None) -> None:
        """Check that an error names the place, as far as its rule has one: cache, field, shard, sample."""
        if self._lenient:
            return
        problems = []
        if error.cache != self._cache or repr(self._cache)[1:-1] not in str(error):
            problems.append(f"names cache {error.cache}")
        if error.rule in _SHARD_RULES and error.field is None:
            problems.append("names no field")
        if error.rule in _RECORD_RULES and None in (error.shard, error.sample):
            problems.append("names no shard or no sample")
        if error.rule == "R039" and error.shard is None:
            problems.append("names no shard")
        if field is not None and error.rule >= "R030" and error.rule < "R041" and error.field != field:
            problems.append(f"names field {error.field}, but {field} was read")
        if error.rule in _RECORD_RULES and sample is not None and error.sample != sample:
            problems.append(f"names sample {error.sample}, but {sample} was read")
        elsewhere = error.sample is not None and error.shard != error.sample // PER_SHARD
        if self.knows and error.rule in _RECORD_RULES and elsewhere:
            problems.append(f"names shard {error.shard}, where sample {error.sample} is not")
        known_field, known_shard = self._place
        if known_field is not None and error.field != known_field:
            problems.append(f"names field {error.field}, the fault is in {known_field}")
        if known_shard is not None and error.shard != known_shard:
            problems.append(f"names shard {error.shard}, the fault is in {known_shard}")
        if problems:
            self.fail("wrong place", f"{stage} {field} {sample}: {error} {'; '.join(problems)}")

    def _many(
        self, kind: str, name: str, values: Iterable[Any], way: str, rows: Iterable[int] | None
    ) -> None:
        found = list(values)
        places = list(range(len(found)) if rows is None else rows)
        expected = len(self._truth) if self._truth is not None and rows is None else len(places)
        if len(found) != expected:
            self.fail("silently wrong", f"{way}: {len(found)} values of {name}, expected {expected}")
            return
        for sample, value in zip(places, found, strict=True):
            self._judge((kind, name, sample), bits(value), way)

    def _judge(self, key: Key, value: Bits, way: str) -> None:
        kind, name, sample = key
        if self._truth is None:
            right = self.seen.setdefault(key, value)
        else:
            right = (self._truth.fields if kind == "field" else self._truth.columns)[name][sample]
        if type(value) is not type(right) or value != right:
            self.fail(
                "silently wrong", f"{way}: {kind} {name} {sample} is {value!r:.200}, not {right!r:.200}"
            )
