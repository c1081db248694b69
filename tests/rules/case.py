"""What one case is: a rule, how a good cache is broken, and where and when a reader must say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .forge import Cache
from .goods import main

When = Literal["open", "read", "lengths", "metadata"]
Break = Callable[[Cache], None]


@dataclass(frozen=True)
class Case:
    """A broken cache.

    Attributes:
        rule: The id both readers must name.
        name: What is broken, unique within the rule.
        base: Makes the good cache.
        edit: Breaks it.
        when: "open" refuses the cache; "read" a record of it; "lengths" the planning of lengths from an
            index; "metadata" the use of the metadata. Whatever comes earlier must still succeed.
        field: The payload field that the error must name.
        shard: The shard that the error must name.
        sample: The sample (place in the cache) that the error must name.
        others: Further samples that the same break spoils.
        also: Ids that a validator may report beside the rule, because it looks further than a reader.
        column: A metadata column whose gather must raise, too.
    """

    rule: str
    name: str
    base: Callable[[], Cache]
    edit: Break
    when: When
    field: str | None = None
    shard: int | None = None
    sample: int | None = None
    others: frozenset[int] = frozenset()
    also: frozenset[str] = frozenset()
    column: str | None = None

    @property
    def id(self) -> str:
        return f"{self.rule} {self.name}"

    def make(self) -> Cache:
        cache = self.base()
        self.edit(cache)
        return cache


class Table:
    """The cases of one file, in the order of the rules."""

    def __init__(self, when: When, base: Callable[[], Cache] = main) -> None:
        self.when = when
        self.base = base
        self.cases: list[Case] = []

    def add(self, rule: str, name: str, edit: Break, **where: Any) -> None:
        """Adds a case; `where` overrides any further attribute of Case."""
        self.cases.append(
            Case(**{"rule": rule, "name": name, "base": self.base, "edit": edit, "when": self.when} | where)
        )

    def case(self, rule: str, name: str, **where: Any) -> Callable[[Break], Break]:
        """Adds the decorated function as a case."""

        def keep(edit: Break) -> Break:
            self.add(rule, name, edit, **where)
            return edit

        return keep


def disk(edit: Callable[[Path], object]) -> Break:
    """Changes the directory when all is written."""

    def change(cache: Cache) -> None:
        cache.edit_disk = lambda path: drop(edit(path))

    return change


def manifest(edit: Callable[[dict[str, Any]], object]) -> Break:
    """Changes the manifest before it is written and digested."""

    def change(cache: Cache) -> None:
        cache.edit_manifest = lambda values: drop(edit(values))

    return change


def drop(_: object) -> None:
    """Drops the value of an expression."""


def text(edit: Callable[[bytes], bytes]) -> Break:
    """Changes the manifest's text before it is digested."""

    def change(cache: Cache) -> None:
        cache.edit_text = edit

    return change


def final(edit: Callable[[bytes], bytes]) -> Break:
    """Changes the manifest's bytes after all, the digest included."""

    def change(cache: Cache) -> None:
        cache.edit_final = edit

    return change


def swap(old: str, new: str | bytes) -> Break:
    """Replaces the one occurrence of `old` in the manifest's text."""
    fresh = new.encode() if isinstance(new, str) else new

    def edit(content: bytes) -> bytes:
        if content.count(old.encode()) != 1:
            raise AssertionError(f"{old!r} stands {content.count(old.encode())} times in the manifest")
        return content.replace(old.encode(), fresh)

    return text(edit)


def attribute(token: str | bytes) -> Break:
    """Makes the value of an attribute this JSON token."""
    fresh = token.encode() if isinstance(token, str) else token

    def change(cache: Cache) -> None:
        cache.attributes = {"a": "HERE"}
        cache.edit_text = lambda content: content.replace(b'"HERE"', fresh)

    return change
