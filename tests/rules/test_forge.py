"""The forge itself: it makes what the format's text shows, and its cases break what they say and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from .cases import CASES, RULES
from .forge import Cache, Field, Record, Shard, seal_shard
from .goods import TALL, empty, main, tall, tall_table
from .soundness import broken


def test_every_rule_of_the_reading_path_has_a_case() -> None:
    assert sorted({case.rule for case in CASES}) == list(RULES)


def test_no_two_cases_share_a_name() -> None:
    names = [case.id for case in CASES]
    assert sorted(set(names)) == sorted(names)


def test_empty_cache_is_the_example_of_the_format(tmp_path: Path) -> None:
    empty().write(tmp_path / "empty")
    assert (tmp_path / "empty/manifest.json").read_bytes() == (
        b'{"digest":"507f7e5e5ae2cc21b51996d37ad0d08f1a85ff01f53616cb09bf8e27fdf5fb4e","attributes":{},'
        b'"fields":[{"codec":"raw","dtype":"uint8","files":[],"kind":"dense","name":"x","shape":[]}],'
        b'"fingerprint":null,"format":1,"metadata":null,"name":"empty","samples":0,"shards":[]}'
    )


def test_fixed_shard_is_the_example_of_the_format() -> None:
    field = Field("image", "dense", "uint8", shape=(2, 2, 3))
    sealed = seal_shard(field, Shard([Record(b"\3" * 12), Record(b"\4" * 12)]))
    assert sealed.content == bytes.fromhex(
        "894453 52540d0a1a01000100040000000200000000000000 2000000000000000"
        "cb3dbcdf99b4640c70722406 46895f2cd1c8398550255f2feb82536f8fdafe2a"
        "03030303030303030303030304040404040404040404040436 86cbbd8820b4fa"
    )
    assert sealed.entry == {"bytes": 96, "body_blake3": sealed.content[32:64].hex()}


def test_indexed_shard_is_the_example_of_the_format() -> None:
    field = Field("tokens", "ragged", "int32", "zstd-dict")
    frames = (
        bytes.fromhex("28b52ffd200c61000000000000010000000200 0000"),
        bytes.fromhex("28b52ffd20108100000000000001000000020000000300 0000"),
    )
    sealed = seal_shard(field, Shard([Record(frames[0], (3,)), Record(frames[1], (4,))]))
    assert sealed.content[64:] == b"".join(frames) + b"\0\0" + bytes.fromhex(
        "5500000000000000bf36e5800300000000000000 6e0000000000000062be97760400000000000000"
    )
    assert sealed.entry["index_blake3"].startswith("247e2ca6")


@pytest.mark.parametrize("make", [main, empty, lambda: tall(tall_table())], ids=["main", "empty", "tall"])
def test_good_caches_are_sound(make: Callable[[], Cache], tmp_path: Path) -> None:
    make().write(tmp_path / "good")
    assert broken(tmp_path / "good") == set()


@pytest.mark.parametrize(
    ("make", "rows"), [(main, 5), (lambda: tall(tall_table()), TALL)], ids=["main", "tall"]
)
def test_good_metadata_is_valid_arrow(make: Callable[[], Cache], rows: int) -> None:
    table = pa.ipc.open_file(pa.BufferReader(make().metadata)).read_all()
    table.validate(full=True)
    assert table.num_rows == rows
