"""Reading one sample, or the columns alone, agrees with reading everything, and looks at no more."""

import os
import shutil

import numpy as np
import pytest

from dsrt_format import Bytes, DataError, Dense, Manifest, Ragged, StaleCacheError, Text
from dsrt_format.directory import CacheDirectory
from dsrt_format.metadata import read_columns, read_table
from dsrt_format.reference import read, read_sample, write

FIELDS = {
    "image": Dense("uint8", (2,)),
    "tokens": Ragged("int32", codec="zstd"),
    "file": Bytes(),
    "note": Text(),
}
COLUMNS = {"label": "int8", "seen": "timestamp[us, UTC]", "key": "binary", "weight": "float64"}


@pytest.fixture
def cache(tmp_path):
    samples = [
        {
            "image": np.full(2, i, np.uint8),
            "tokens": np.arange(i, dtype=np.int32),
            "file": bytes(i),
            "note": "ä" * i,
            "label": None if i == 3 else i,
            "seen": np.datetime64(i, "us"),
            "key": bytes([i]),
            "weight": float(i),
        }
        for i in range(7)
    ]
    write(tmp_path / "seven", FIELDS, samples, COLUMNS, samples_per_shard=3)
    return tmp_path / "seven"


def flip(file, at):
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)


def test_one_sample_is_what_reading_everything_gives_in_its_place(cache):
    for number, expected in enumerate(read(cache)):
        found = read_sample(cache, number)
        assert list(found) == list(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("number", [-1, 7])
def test_a_sample_that_is_not_there_is_an_index_error(cache, number):
    with pytest.raises(IndexError, match=f"sample {number} of .*: it has 7 samples"):
        read_sample(cache, number)


def test_the_number_of_a_sample_is_an_integer_of_any_kind(cache):
    assert read_sample(cache, np.uint8(5))["file"] == bytes(5)
    for number in 1.0, "1", None:
        with pytest.raises(TypeError):
            read_sample(cache, number)


def test_damage_is_found_in_the_sample_itself_and_does_not_hurt_others(cache):
    flip(cache / "fields" / "image" / "00001.shard", 64 + 2)
    with pytest.raises(DataError) as error:
        read_sample(cache, 4)
    assert (error.value.rule, error.value.field, error.value.shard, error.value.sample) == (
        "R033",
        "image",
        1,
        4,
    )
    assert read_sample(cache, 3)["image"].tolist() == [3, 3]


def test_columns_are_named_with_their_types_in_order(cache, tmp_path):
    assert list(read_columns(cache).items()) == list(COLUMNS.items())
    assert read_columns(cache, manifest=Manifest.load(cache)) == COLUMNS
    write(tmp_path / "bare", {"x": Dense("int8")}, [])
    assert read_columns(tmp_path / "bare") == {}


def test_columns_of_a_damaged_end_are_refused(cache):
    flip(cache / "metadata.arrow", -40)
    with pytest.raises(DataError) as error:
        read_columns(cache)
    assert error.value.rule == "R041"


def test_of_a_long_file_only_the_end_is_proven(tmp_path):
    rows = [{"x": np.int8(0), "text": "0123456789abcdef" * 4096} for _ in range(160)]
    write(tmp_path / "long", {"x": Dense("int8")}, rows, {"text": "string"})
    assert len(Manifest.load(tmp_path / "long").metadata.chunks) == 3
    flip(tmp_path / "long" / "metadata.arrow", 5 << 20)
    assert read_columns(tmp_path / "long") == {"text": "string"}


def test_a_beginning_that_is_not_proven_is_not_looked_at(tmp_path):
    rows = [{"x": np.int8(0), "text": "0123456789abcdef" * 4096} for _ in range(80)]
    write(tmp_path / "long", {"x": Dense("int8")}, rows, {"text": "string"})
    flip(tmp_path / "long" / "metadata.arrow", 0)
    assert read_columns(tmp_path / "long") == {"text": "string"}
    with pytest.raises(DataError) as error:
        read_table(tmp_path / "long")
    assert error.value.rule == "R041"


@pytest.mark.parametrize("read_metadata", [read_columns, read_table])
@pytest.mark.parametrize("columns", [{"other": "string"}, {}])
def test_a_cache_that_a_rebuild_replaces_meanwhile_is_read_anew_or_is_stale(
    cache, tmp_path, monkeypatch, read_metadata, columns
):
    manifest, opened = Manifest.load(cache), CacheDirectory.open

    def replaced(self, name, length):
        monkeypatch.setattr(CacheDirectory, "open", opened)
        sample = {"x": np.int8(0), **dict.fromkeys(columns, "new")}
        write(tmp_path / "new", {"x": Dense("int8")}, [sample], columns)
        cache.rename(tmp_path / "old")
        (tmp_path / "old" / "metadata.arrow").unlink()
        (tmp_path / "new").rename(cache)
        return opened(self, name, length)

    def restore():
        shutil.rmtree(cache)
        (tmp_path / "old").rename(cache)
        (cache / "metadata.arrow").write_bytes(content)

    content = (cache / "metadata.arrow").read_bytes()
    monkeypatch.setattr(CacheDirectory, "open", replaced)
    found = read_metadata(cache)
    names = [] if found is None else list(found) if isinstance(found, dict) else found.column_names
    assert names == list(columns)
    restore()
    monkeypatch.setattr(CacheDirectory, "open", replaced)
    for _ in range(2):  # while it is replaced, and afterwards
        with pytest.raises(StaleCacheError, match="it was rebuilt or replaced, load its manifest again"):
            read_metadata(cache, manifest=manifest)


def test_what_was_read_does_not_change_with_the_file(cache):
    views = read_table(cache, views=True)
    expected = views.to_pydict()
    with open(cache / "metadata.arrow", "r+b") as file:
        file.write(b"\xff" * os.fstat(file.fileno()).st_size)
    assert views.to_pydict() == expected
