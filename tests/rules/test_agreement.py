"""Random damage, every digest made anew: both readers judge it alike and raise nothing but FormatError."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

import dsrt_native
from dsrt_format import Manifest, reference
from dsrt_format.errors import FormatError

from .forge import Cache, Field, Record, Shard
from .frames import compress, frame
from .goods import DICTIONARY, main, table
from .native import Native
from .readers import Reference

# Where (as a share of the length), how many bytes go, and what comes instead.
Edit = tuple[float, int, bytes]
JSON_TOKENS = [
    *(bytes([byte]) for byte in b'"\\{}[],:0-1eE. \n\t\x00\x7f\xff'),
    *(b"\\u00e9", b"\\ud800", b"\\u006e", b"-0", b"1.0", b"1e999", b"null", b"true", b"00", b'"a":1,'),
    *(
        b"9223372036854775807",
        b"9223372036854775808",
        b'"format":2,',
        b'"name":"x",',
        "é".encode(),
        b"\xed\xa0\x80",
    ),
]
SEVERAL = settings(deadline=None, max_examples=60)


def edits(pieces: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[Edit]]:
    one = st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 4), pieces)
    return st.lists(one, min_size=1, max_size=3)


def edited(content: bytes, changes: list[Edit]) -> bytes:
    for where, gone, new in changes:
        at = int(where * len(content))
        content = content[:at] + new + content[at + gone :]
    return content


def judged(read: Callable[[], Any]) -> tuple[str | None, Any]:
    """The rule that refuses it, or what was read."""
    try:
        return None, read()
    except FormatError as error:
        return error.rule, None


@functools.cache
def manifest_text() -> bytes:
    """What the digest of the main cache's manifest is made of."""
    cache = main()
    cache.attributes = {"a": [1, -2.5e3, "é", {"b": None, "c": [True, False]}], "d": "\n"}
    with tempfile.TemporaryDirectory() as folder:
        cache.write(Path(folder) / "cache")
        return b"{" + (Path(folder) / "cache/manifest.json").read_bytes()[77:]


@settings(deadline=None, max_examples=300)
@given(changes=edits(st.sampled_from(JSON_TOKENS)))
def test_damaged_manifests(changes: list[Edit]) -> None:
    text = edited(manifest_text(), changes)
    digest = blake3(b"{" + text[1:]).hexdigest().encode()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "manifest.json").write_bytes(b'{"digest":"' + digest + b'",' + text[1:])
        plain, _ = judged(lambda: Manifest.load(folder))
        native, _ = judged(lambda: dsrt_native.Cache.open(folder))
    # Native goes on to the files, and there are none.
    assert native == (plain or "R030")


def stored(changes: list[Edit], content: bytes, dictionary: bytes | None, by_hand: bool) -> Record:
    whole = frame(content, size_bytes=8) if by_hand else compress(content, dictionary)
    return Record(edited(whole, changes), (len(content),))


CONTENTS = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda text, n: text * n, st.just(b"the quick fox "), st.integers(0, 99)),
)
RECORDS = st.tuples(edits(st.binary(max_size=2)) | st.just([]), CONTENTS, st.booleans())


@SEVERAL
@given(
    records=st.lists(RECORDS, min_size=1, max_size=20),
    kind=st.sampled_from(["bytes", "text"]),
    dictionary=st.sampled_from([None, DICTIONARY]),
    delta=st.sampled_from([None, 1, 3, 255]),
)
def test_damaged_frames(
    records: list[tuple[list[Edit], bytes, bool]], kind: str, dictionary: bytes | None, delta: int | None
) -> None:
    field = Field(
        "x", kind, "uint8", "zstd" if dictionary is None else "zstd-dict", delta=delta, dictionary=dictionary
    )
    field.shards = [Shard([stored(changes, content, dictionary, hand) for changes, content, hand in records])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache"
        Cache(fields=[field], counts=[len(records)]).write(path)
        native = dsrt_native.Cache.open(path)
        for sample in range(len(records)):
            plain = judged(lambda sample=sample: reference.read_sample(path, sample)["x"])
            assert plain == judged(lambda sample=sample: native.fields["x"][sample])


NUMBERS = [
    bytes(4),
    b"\1\0\0\0",
    b"\4\0\0\0",
    b"\x10\0\0\0",
    b"\xff" * 4,
    b"\xff" * 8,
    b"\xff\xff\xff\x7f",
    bytes(8),
]
GOOD = table(5).build()


@SEVERAL
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.sampled_from(NUMBERS)), min_size=1, max_size=3
    )
)
def test_damaged_metadata(changes: list[tuple[float, bytes]]) -> None:
    content = bytearray(GOOD)
    for where, new in changes:
        at = int(where * (len(content) - 8)) & ~3
        content[at : at + len(new)] = new
    cache = Cache(fields=[main().field("void")], counts=[3, 2], metadata=bytes(content))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache"
        cache.write(path)
        plain, columns = judged(lambda: Reference().columns(path))
        native, found = judged(lambda: Native("native", verify=True).columns(path))
    # A mangled table is R042 to a reader that verifies all of it, and R045 to one that finds it odd.
    assert {plain, native} <= {None, "R042", "R043", "R044", "R045", "R046"}
    assert columns is None or found is None or columns == found
