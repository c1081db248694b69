"""The engine's `verify` finds what `validate` does where all digests are right and the content is not."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from dsrt_format import validate

from .forge import Cache, Field, Record, Shard
from .goods import DICTIONARY, encode, main
from .problems import LEVELS, differences
from .test_agreement import GOOD, JSON_TOKENS, RECORDS, Edit, edited, edits, stored
from .test_agreement import NUMBERS as WORDS

MANGLED = {"R042", "R043", "R044", "R045", "R046"}

THREADS = st.integers(1, 3)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "cache"
    main().write(path)
    return path


NUMBERS = [b'"samples":5', b'"bytes":0', b'"bytes":-1,', b'"shape":[1]', b'"name":"jpeg"', b'"kind":"dense"']


@settings(deadline=None, max_examples=200)
@given(changes=edits(st.sampled_from(JSON_TOKENS + NUMBERS)), level=st.sampled_from(LEVELS), threads=THREADS)
def test_manifests(good: Path, changes: list[Edit], level: Any, threads: int) -> None:
    text = edited(b"{" + (good / "manifest.json").read_bytes()[77:], changes)
    digest = blake3(b"{" + text[1:]).hexdigest().encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache"
        shutil.copytree(good, path)
        (path / "manifest.json").write_bytes(b'{"digest":"' + digest + b'",' + text[1:])
        assert differences(path, level, threads) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"name":"half"', b'"name":"void"'),
        (b'"name":"half"', b'"name":"VOID"'),
        (b'"name":"half"', '"name":"VÖID"'.encode()),
        (b'"name":"half"', b'"name":"../x"'),
        (b'"name":"half"', b'"name":".."'),
        (b'"name":"half"', b'"name":""'),
        (b'"samples":5', b'"samples":-5'),
        (b'"samples":5', b'"samples":9000000000'),
        (b'"shards":[3,2]', b'"shards":[3,2,0]'),
        (b'"shards":[3,2]', b'"shards":[2,3]'),
        (b'"shards":[3,2]', b'"shards":[3]'),
        (b'"metadata":{"bytes":', b'"metadata":{"bytes":9'),
        (b'"dtype":"uint16"', b'"dtype":"uint8"'),
        (b'"kind":"text"', b'"kind":"bytes"'),
        (b'"codec":"zstd",', b'"codec":"lz4",'),
    ],
)
def test_wrong_values_of_a_manifest(good: Path, tmp_path: Path, old: bytes, new: bytes) -> None:
    text = b"{" + (good / "manifest.json").read_bytes()[77:]
    assert old in text
    text = text.replace(old, new, 1)
    path = tmp_path / "cache"
    shutil.copytree(good, path)
    digest = blake3(text).hexdigest().encode()
    (path / "manifest.json").write_bytes(b'{"digest":"' + digest + b'",' + text[1:])
    for level in LEVELS:
        assert differences(path, level) == []
        assert differences(path, level, parts=3) == []


SMALL = {"deadline": None, "max_examples": 120}


@settings(**SMALL)
@given(
    records=st.lists(RECORDS, min_size=1, max_size=12),
    kind=st.sampled_from(["bytes", "text"]),
    dictionary=st.sampled_from([None, DICTIONARY]),
    delta=st.sampled_from([None, 1, 3, 255]),
    level=st.sampled_from(LEVELS),
)
def test_frames(records: Any, kind: str, dictionary: bytes | None, delta: int | None, level: Any) -> None:
    codec = "zstd" if dictionary is None else "zstd-dict"
    field = Field("x", kind, "uint8", codec, delta=delta, dictionary=dictionary)
    field.shards = [Shard([stored(changes, content, dictionary, hand) for changes, content, hand in records])]
    found_alike([field], [len(records)], level)


ENDS = st.none() | st.integers(0, 400) | st.sampled_from([0, 63, 64, 2**32, 2**63, 2**64 - 1])


@st.composite
def entries(draw: st.DrawFn) -> tuple[bytes, int | None, int | None, int]:
    """Stored bytes, where the index says that they end, their checksum if it is wrong, and a length."""
    content = draw(
        st.binary(max_size=40) | st.text(max_size=9).map(str.encode) | st.sampled_from([b"", b"\0\1\1"])
    )
    length = draw(st.just(len(content)) | st.sampled_from([0, 1, 2**48, 2**48 + 1, 2**64 - 1]))
    return content, draw(ENDS), draw(st.none() | st.just(7)), length


@settings(**SMALL)
@given(
    drawn=st.lists(entries(), min_size=1, max_size=9),
    what=st.sampled_from([("bytes", "uint8"), ("text", "uint8"), ("ragged", "bool"), ("ragged", "int16")]),
    pad=st.none() | st.binary(max_size=9),
    level=st.sampled_from(LEVELS),
)
def test_indexes(drawn: Any, what: tuple[str, str], pad: bytes | None, level: Any) -> None:
    records = [Record(content, (length,), crc, end) for content, end, crc, length in drawn]
    whole = sum(len(record.stored) for record in records)
    if pad is not None:
        pad += bytes(-(whole + len(pad)) % 8)
    field = Field("x", *what, shards=[Shard(records, pad)])
    found_alike([field], [len(records)], level)


@settings(**SMALL)
@given(
    contents=st.lists(st.binary(min_size=3, max_size=3) | st.just(b"\0\1\0"), min_size=1, max_size=9),
    pad=st.none() | st.binary(min_size=7, max_size=7),
    level=st.sampled_from(LEVELS),
)
def test_fixed_shards(contents: list[bytes], pad: bytes | None, level: Any) -> None:
    pad = None if pad is None else pad[: -3 * len(contents) % 8]
    field = Field(
        "x", "dense", "bool", shape=(3,), shards=[Shard([Record(content) for content in contents], pad)]
    )
    found_alike([field], [len(contents)], level)


MIB = 1 << 20
# Of a file that the engine reads in several pieces.
LENGTHS = [0, 1, MIB - 65, 1, MIB, 7, 2 * MIB + 3, 0, MIB // 2]


def noise(length: int, seed: int, most: int) -> bytes:
    """Bytes below `most`."""
    return np.random.default_rng(seed).integers(0, most, length, np.uint8).tobytes()


def large_fields() -> list[Field]:
    """Records that begin, end and lie across the pieces."""
    contents = [noise(length, seed, 2) for seed, length in enumerate(LENGTHS)]
    plain = [noise(length, seed, 256) for seed, length in enumerate(LENGTHS)]
    texts = [("é" * (length // 2) + "x" * (length % 2)).encode() for length in LENGTHS]
    fields = []
    for name, kind, dtype, codec, values in [
        ("bools", "ragged", "bool", "raw", contents),
        ("bytes", "bytes", "uint8", "zstd", plain),
        ("text", "text", "uint8", "raw", texts),
    ]:
        field = Field(name, kind, dtype, codec)
        field.shards = [Shard([encode(field, content, (len(content),)) for content in values])]
        fields.append(field)
    return fields


@pytest.fixture(scope="module")
def large() -> list[Field]:
    return large_fields()


def spoilt(record: Record, at: int, byte: int) -> Record:
    content = bytearray(record.stored)
    content[at] = byte
    return Record(bytes(content), record.shape)


@pytest.mark.parametrize("at", [0, MIB - 129, MIB - 1, MIB, 2 * MIB + 2])
def test_content_of_records_larger_than_a_piece(large: list[Field], at: int) -> None:
    fields = []
    for field in large:
        records = list(field.shards[0].records)
        length = len(records[6].stored)
        records[6] = spoilt(records[6], min(at, length - 1), 0xFF)
        changed = Field(field.name, field.kind, field.dtype, field.codec, shards=[Shard(records)])
        fields.append(changed)
    found_alike(fields, [len(LENGTHS)], "digests")


@pytest.mark.parametrize("moved", [range(1, 9), [2], [3, 5], [4, 6], [0, 8]])
def test_ends_that_go_back_and_forth_across_pieces(large: list[Field], moved: Any) -> None:
    fields = []
    for number, field in enumerate(large):
        records = list(field.shards[0].records)
        whole = 64 + sum(len(record.stored) for record in records)
        for ordinal in moved:
            record = records[ordinal]
            end = 64 + (ordinal * 2_654_435_761 + number * 97) % whole
            records[ordinal] = Record(record.stored, record.shape, end=end)
        fields.append(Field(field.name, field.kind, field.dtype, field.codec, shards=[Shard(records)]))
    for level in LEVELS:
        found_alike(fields, [len(LENGTHS)], level)


@pytest.mark.parametrize("at", [64, MIB, 3 * MIB + 11, -1])
def test_damage_of_files_that_are_read_in_pieces(large: list[Field], tmp_path: Path, at: int) -> None:
    path = tmp_path / "cache"
    Cache(fields=large, counts=[len(LENGTHS)]).write(path)
    assert differences(path, "digests") == []
    for file in path.glob("fields/*/*.shard"):
        content = bytearray(file.read_bytes())
        content[at] ^= 4
        file.write_bytes(content)
    for level in LEVELS:
        assert differences(path, level) == []


def found_alike(fields: list[Field], counts: list[int], level: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache"
        Cache(fields=fields, counts=counts).write(path)
        assert differences(path, level) == []


@settings(**SMALL)
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.sampled_from(WORDS)), min_size=1, max_size=2
    )
)
def test_metadata_that_is_mangled_breaks_the_same_rule_to_both(changes: list[tuple[float, bytes]]) -> None:
    content = bytearray(GOOD)
    for where, new in changes:
        at = int(where * (len(content) - 8)) & ~3
        content[at : at + len(new)] = new
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache"
        Cache(fields=[main().field("void")], counts=[3, 2], metadata=bytes(content)).write(path)
        assert differences(path, "structure") == []
        assert {problem.rule for problem in validate(path, level="structure")} <= MANGLED
