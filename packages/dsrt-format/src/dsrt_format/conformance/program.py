"""A reader that is a program of its own, in any language: it prints what it read as lines of JSON."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from dsrt_format.conformance.reader import CacheReader

__all__ = ["Program", "ProgramError", "Refusal"]


class ProgramError(Exception):
    """The program ended badly, took too long or printed what nobody understands."""


class Refusal(Exception):
    """The program refused something.

    Args:
        rule: The id of the rule.
        message: What it said.
    """

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


class Program:
    """Opens caches by starting ``COMMAND CACHE_PATH`` once for each; an `OpenCache`.

    Args:
        command: The program and its arguments; the path of a cache is added as the last one.
        timeout: After how many seconds the program is killed, which counts as a failure.
    """

    def __init__(self, command: Sequence[str], timeout: float = 60.0) -> None:
        self._command = list(command)
        self._timeout = timeout

    def __call__(self, path: str) -> CacheReader:
        """Run the program on a cache.

        Raises:
            Refusal: It refused the cache before it printed anything.
            ProgramError: It failed.
            OSError: It cannot be started.
        """
        try:
            done = subprocess.run(
                [*self._command, path],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self._timeout,
            )
        except subprocess.TimeoutExpired:
            raise ProgramError(f"no end after {self._timeout:g} seconds") from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()[-500:]
            raise ProgramError(f"it ended with the exit code {done.returncode}: {said or 'no words'}")
        printed = _Printed()
        for number, line in enumerate(done.stdout.splitlines(), 1):
            try:
                printed.take(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ProgramError(f"line {number} is not understood ({error!r}): {line[:200]!r}") from None
        return printed.opened()


class _Printed:
    """What one run of the program printed."""

    def __init__(self) -> None:
        self.cache_id: int | None = None
        self._samples: int | None = None
        self._refusal: Refusal | None = None
        self._answers: dict[tuple[str, str, int | None], Any] = {}

    def take(self, line: dict[str, Any]) -> None:
        """Take the object of one line."""
        if self._refusal is not None:
            raise ValueError("nothing follows a refusal of the whole cache")
        if "rule" in line:
            refusal = Refusal(str(line["rule"]), str(line.get("message", "")))
            if "column" in line:
                self._answers["column", line["column"], None] = refusal
            elif "field" in line:
                self._answers["record", line["field"], int(line["sample"])] = refusal
            else:
                self._refusal = refusal
        elif self._samples is None:
            self._samples = int(line["samples"])
            self.cache_id = int(line["cache_id"]) if "cache_id" in line else None
        elif "column" in line:
            values = None if "blake3" in line else [_unhex(value) for value in line["values"]]
            self._answers["column", line["column"], None] = str(line["blake3"]) if values is None else values
        elif "blake3" in line:
            self._answers["records", line["field"], None] = str(line["blake3"])
        else:
            record = tuple(int(axis) for axis in line["shape"]), bytes.fromhex(line["hex"])
            self._answers["record", line["field"], int(line["sample"])] = record

    def opened(self) -> CacheReader:
        """Return the reader, or raise the refusal if nothing was read before it."""
        if self._samples is None:
            raise self._refusal or ProgramError("it printed nothing")
        return self

    def __len__(self) -> int:
        return self._samples or 0

    def record(self, field: str, sample: int) -> tuple[tuple[int, ...], bytes]:
        """Return a printed record."""
        answer: tuple[tuple[int, ...], bytes] = self._find("record", field, sample)
        return answer

    def column(self, name: str) -> list[bytes | None]:
        """Return a printed column."""
        answer: list[bytes | None] = self._find("column", name, None)
        return answer

    def field_digest(self, field: str) -> str | None:
        """Return the printed digest of a field, if that is what was printed."""
        return self._answers.get(("records", field, None))

    def column_digest(self, name: str) -> str | None:
        """Return the printed digest of a column, if that is what was printed."""
        answer = self._answers.get(("column", name, None))
        return answer if isinstance(answer, str) else None

    def _find(self, what: str, name: str, sample: int | None) -> Any:
        answer = self._answers.get((what, name, sample), self._refusal)
        if answer is None:
            raise ProgramError("it printed neither this nor a refusal")
        if isinstance(answer, Refusal):
            raise answer
        return answer


def _unhex(value: str | None) -> bytes | None:
    return None if value is None else bytes.fromhex(value)
