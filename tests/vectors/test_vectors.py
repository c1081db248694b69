"""The shipped vectors and their page are what the tables make, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_a_vector_is_never_written_over_nor_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    first, second = {"good/x/expected.json": b"1"}, {"bad/y/expected.json": b"2"}
    assert shipped.add(first) == 1
    assert shipped.add(first | second) == 1
    assert shipped.differences(first | second) == []
    for files in (first, dict.fromkeys(first | second, b"3")):
        with pytest.raises(ValueError, match="never edited"):
            shipped.add(files)
    assert (tmp_path / "good/x/expected.json").read_bytes() == b"1"
    (tmp_path / "good/x/expected.json").write_bytes(b"3")
    (tmp_path / "bad/y/expected.json").unlink()
    assert shipped.differences(first | second) == [
        "good/x/expected.json is made otherwise now",
        "bad/y/expected.json is made and not there",
        "SHA256SUMS does not list what is there",
    ]
