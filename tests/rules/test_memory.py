"""Small files that ask for much memory: where it is limited, an error that names the cache."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dsrt_native import Cache, verify

from .arrow_columns import TYPES, Column, Packed
from .arrow_file import ArrowFile, Batch
from .forge import Cache as Forged
from .forge import Field, Record, Shard
from .goods import fill, main, with_metadata

LIMITED = """
import os, resource, sys
import numpy, pyarrow
import dsrt_native
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * os.sysconf("SC_PAGE_SIZE") + (int(sys.argv[2]) << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
path = sys.argv[1]
try:
    print(eval(sys.argv[3]))
except MemoryError as error:
    print("MemoryError", error)
"""
"""Says what an expression gives, or its MemoryError, with so many MiB more than the imports took."""


def limited(path: Path, mib: int, expression: str) -> str:
    command = [sys.executable, "-c", LIMITED, str(path), str(mib), expression]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A legal manifest of 7 MB with a million small objects."""
    path = tmp_path_factory.mktemp("crowded") / "c"
    cache = main()
    cache.edit_text = lambda text: text.replace(
        b'"note"', b'"crowd":[' + b",".join([b'{"":1}'] * 1_000_000) + b'],"note"'
    )
    cache.write(path)
    return path


@pytest.mark.parametrize(
    "expression", ["dsrt_native.verify(path, level='structure')", "len(dsrt_native.Cache.open(path))"]
)
def test_a_manifest_that_does_not_fit_is_an_error_and_not_an_abort(crowded: Path, expression: str) -> None:
    assert "MemoryError" in limited(crowded, 60, expression)
    assert f"cache {crowded}: the manifest" in limited(crowded, 60, expression)
    # Some 12 times its bytes, and not 165.
    assert limited(crowded, 200, expression).strip() in ("[]", "5")


@pytest.fixture(scope="module")
def broad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Metadata of 300 columns of 65,536 strings, which all share a megabyte at an odd place."""
    rows, names = 65_536, [f"c{number}" for number in range(300)]

    def overlap(batch: Batch, number: int) -> None:
        view = struct.pack("<i12s", 3, b"abc")
        batch.body = bytearray(bytes(8) + view * rows + bytes(56))
        batch.ranges = [[0, 0], [8, 16 * rows]] * len(names)

    columns = [Column(name, TYPES["utf8_view"], [""] * rows) for name in names]
    cache = Forged(
        fields=[Field("x", "dense", "uint8", shape=(0,), shards=[Shard([Record(b"")] * rows)])],
        counts=[rows],
    )
    with_metadata(cache, ArrowFile(columns, rows, edit_batch=overlap))
    path = tmp_path_factory.mktemp("broad") / "c"
    cache.write(path)
    return path


def test_columns_that_share_their_bytes_are_verified_one_by_one(broad: Path) -> None:
    assert limited(broad, 40, "dsrt_native.verify(path, threads=1)").strip() == "[]"


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_a_table_that_does_not_fit_is_an_error_that_names_its_cache(broad: Path, io: str) -> None:
    found = limited(broad, 200, f"dsrt_native.Cache.open(path, io={io!r}).metadata")
    assert "MemoryError" in found
    assert f"cache {broad}" in found
    assert "panicked" not in found


def test_a_record_that_does_not_fit_is_an_error_that_names_it(tmp_path: Path) -> None:
    size = 1 << 30
    item = Field("big", "bytes", "uint8", "zstd")
    cache = Forged(fields=[fill(item, [b"", bytes(size)], [2])], counts=[2])
    cache.write(tmp_path / "c")
    found = limited(tmp_path / "c", 300, "dsrt_native.verify(path, threads=1)")
    assert f"cache {tmp_path / 'c'}, field big, shard 0, sample 1: a record of {size} bytes" in found
    found = limited(tmp_path / "c", 300, "dsrt_native.Cache.open(path)[1]")
    assert f"cache {tmp_path / 'c'}, " in found
    assert "sample 1: " in found
    assert "big" in found


def test_each_byte_of_strings_that_overlap_is_verified_once(tmp_path: Path) -> None:
    rows, columns = 511, 20
    text = "é".encode() * (1 << 21)

    def overlap(packed: dict[str, Packed], number: int) -> None:
        view = struct.pack("<i4sii", len(text), text[:4], 0, 0)
        for column in packed.values():
            column.buffers[1:] = [bytearray(view * rows), bytearray()]

    def together(batch: Batch, number: int) -> None:
        place = len(batch.body)
        batch.body += text
        for place_of in range(2, 3 * columns, 3):
            batch.ranges[place_of] = [place, len(text)]

    names = [f"c{number}" for number in range(columns)]
    file = ArrowFile(
        [Column(name, TYPES["utf8_view"], [""] * rows) for name in names],
        rows,
        edit_packed=overlap,
        edit_batch=together,
    )
    cache = Forged(
        fields=[Field("x", "dense", "uint8", shape=(0,), shards=[Shard([Record(b"")] * rows)])],
        counts=[rows],
    )
    with_metadata(cache, file)
    cache.write(tmp_path / "c")
    # One by one they are 40 GiB.
    assert verify(tmp_path / "c", level="structure") == []


def test_the_columns_of_a_sample_are_found_however_many_there_are(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(20_000)]
    file = ArrowFile([Column(name, TYPES["int8"], np.array([1, 2], np.int8)) for name in names], 2, align=8)
    cache = Forged(
        fields=[Field("x", "dense", "uint8", shape=(0,), shards=[Shard([Record(b"")] * 2)])], counts=[2]
    )
    with_metadata(cache, file)
    cache.write(tmp_path / "c")
    sample = Cache.open(tmp_path / "c")[1]
    assert list(sample)[1:] == names
    assert set(list(sample.values())[1:]) == {2}
