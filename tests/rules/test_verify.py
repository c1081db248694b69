"""The engine's `verify` and the plain `validate` find the same, problem for problem."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsrt_format import validate
from dsrt_native import verify

from .accepted import ACCEPTED, Accepted
from .case import Case
from .cases import CASES
from .goods import main
from .problems import LEVELS, differences, places


def name_of(value: Case | Accepted) -> str:
    return str(getattr(value, "id", None) or value.name)


@pytest.fixture(params=[*CASES, *ACCEPTED], ids=name_of)
def forged(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Every forged cache, broken or only looking so; gone before the next is made."""
    request.param.make().write(tmp_path / "cache")
    yield tmp_path / "cache"
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_both_find_the_same_in_every_forged_cache(forged: Path) -> None:
    for level in LEVELS:
        assert differences(forged, level) == []


def test_both_find_nothing_where_there_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path, tmp_path / "absent", tmp_path / "file", tmp_path / "file" / "below"):
        assert (
            places(verify(path))
            == places(validate(path))
            == [("R000", os.fspath(path), None, None, None, "manifest", False, 0)]
        )


def damage(path: Path, draw: st.DrawFn) -> None:
    """Does one thing that disks and people do to a file, or to two."""
    files = sorted(item for item in path.rglob("*") if item.is_file())
    if not files:
        return
    victim, other = draw(st.sampled_from(files)), draw(st.sampled_from(files))
    content = bytearray(victim.read_bytes())
    at = draw(st.integers(0, max(len(content) - 1, 0)))
    what = draw(
        st.sampled_from(
            ["bit", "bit", "bit", "zeros", "cut", "grow", "swap", "copy", "gone", "stray", "tail"]
        )
    )
    if what == "bit" and content:
        content[at] ^= 1 << draw(st.integers(0, 7))
    elif what == "tail" and content:
        # Where the index is.
        content[-1 - at % min(len(content), 64)] ^= 1 << draw(st.integers(0, 7))
    elif what == "zeros":
        content[at : at + 16] = bytes(len(content[at : at + 16]))
    elif what == "cut":
        del content[at:]
    elif what == "grow":
        content += b"\0"
    elif what == "copy":
        content = bytearray(other.read_bytes())
    elif what == "swap":
        here = bytes(content)
        content = bytearray(other.read_bytes())
        other.write_bytes(here)
    elif what == "gone":
        victim.unlink()
        return
    elif what == "stray":
        (victim.parent / draw(st.sampled_from(["x", "00009.shard", "a\udcff"]))).write_bytes(b"")
        return
    victim.write_bytes(content)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "cache"
    main((2, 1, 2)).write(path)
    return path


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_both_find_the_same_after_any_damage(good: Path, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "cache"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(good, path)
    for _ in range(data.draw(st.integers(1, 3))):
        damage(path, data.draw)
    level = data.draw(st.sampled_from(LEVELS))
    threads = data.draw(st.integers(1, 3))
    assert differences(path, level, threads) == []
    if validate(path, level="structure")[:1] and validate(path, level="structure")[0].rule < "R007":
        # What makes the manifest unreadable is found by every part.
        assert len(verify(path, part=(1, 2))) == 1
    else:
        assert differences(path, level, threads, parts=data.draw(st.integers(2, 5))) == []
