"""The shipped vectors and their page are what the tables make, byte for byte."""

from __future__ import annotations

from tests.rules.recorded import FRESH
from tests.vectors import page, shipped


def test_the_shipped_vectors_are_what_is_made() -> None:
    before = set(FRESH)
    files = dict(shipped.made())
    assert set(FRESH) == before, (
        "bytes of this machine's libraries are in them: python -m tests.vectors --record"
    )
    assert shipped.differences(files) == []


def test_the_page_describes_every_vector() -> None:
    text = page.PAGE.read_text()
    assert page.filled(text) == text
    assert all(name.partition("/")[2].partition("-")[2] in text for name in page.abouts())
