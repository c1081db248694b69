import os
import subprocess
import sys
from pathlib import Path

import pytest

from dsrt_format import fingerprint

DISTINCT = [
    (),
    (None,),
    (None, None),
    (True,),
    (False,),
    (0,),
    (1,),
    (-1,),
    (10,),
    (1, 0),
    (2**64,),
    (2**20000,),
    (0.0,),
    (-0.0,),
    (1.0,),
    (float("nan"),),
    (float("inf"),),
    ("",),
    ("1",),
    ("a", "b"),
    ("ab",),
    ("ab", ""),
    (b"",),
    (b"1",),
    ([],),
    ([[]],),
    ([], []),
    ([1],),
    ([1, 2],),
    ([[1], 2],),
    ({},),
    ({"a": 1},),
    ({"a": "1"},),
    ({"a": 1, "b": 2},),
    ({"a": {"b": 2}},),
    (["a", 1],),
]


def test_different_parts_have_different_digests():
    assert len({fingerprint(*parts) for parts in DISTINCT}) == len(DISTINCT)


def test_the_digest_is_the_same_in_every_process():
    assert fingerprint(3, "größe", [1.5, None]) == (
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import dsrt_format; print(dsrt_format.fingerprint(3, 'größe', [1.5, None]))",
            ],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONUTF8": "1", "PYTHONHASHSEED": "7"},
        ).stdout.strip()
    )


def test_the_digest_is_what_it_was():
    assert fingerprint() == "6b0d62804d14111a8438e3078b1a23fe23bd5d3c3e9332078e8d70fa1e091b54"
    assert (
        fingerprint(1, "a", b"b", 0.5, None, True, {"k": [2]})
        == "796e24397d9dac205092f422ed561c77a21d994ab36b8d91cfe7ab47b9663bfe"
    )


def test_order_counts_in_lists_and_not_in_dicts():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint([1, 2]) != fingerprint([2, 1])
    assert fingerprint((1, 2)) == fingerprint([1, 2])


def test_a_path_stands_for_the_name_size_and_mtime_of_its_file(tmp_path):
    first = tmp_path / "a.txt"
    first.write_bytes(b"123")
    os.utime(first, ns=(5, 7))
    digest = fingerprint(first)
    assert digest != fingerprint(str(first))
    moved = tmp_path / "sub" / "a.txt"
    moved.parent.mkdir()
    moved.write_bytes(b"456")
    os.utime(moved, ns=(99, 7))
    assert fingerprint(moved) == digest
    os.utime(moved, ns=(99, 8))
    assert fingerprint(moved) != digest
    os.utime(first, ns=(5, 7))
    assert fingerprint(first.rename(tmp_path / "b.txt")) != digest
    moved.write_bytes(b"4567")
    os.utime(moved, ns=(99, 7))
    assert fingerprint(moved) != digest


def test_a_directory_is_refused_with_advice(tmp_path):
    with pytest.raises(TypeError, match=r"is a directory; list the files"):
        fingerprint([tmp_path])


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        fingerprint(Path(tmp_path / "none"))


@pytest.mark.parametrize("part", [{1}, object(), 1j, range(3), fingerprint])
def test_other_types_are_refused_by_name(part):
    with pytest.raises(TypeError, match=type(part).__name__):
        fingerprint(part)


def test_a_lone_surrogate_is_a_value_error():
    with pytest.raises(ValueError, match="surrogate"):
        fingerprint("\ud800")
