"""One field of a cache: what it says, its records, its lengths, views of the file."""

import numpy as np
import pytest

from dsrt_native import Cache, RaggedArray


@pytest.fixture
def cache(path):
    with Cache.open(path) as cache:
        yield cache


def column(samples, name, rows):
    return [samples[row][name] for row in rows]


def test_fields_say_what_they_hold(cache):
    described = {name: (f.kind, f.dtype, f.shape, f.codec) for name, f in cache.fields.items()}
    assert described["image"] == ("dense", "uint8", (4, 5, 3), "zstd")
    assert described["vector"] == ("dense", "float32", (6,), "raw")
    assert described["label"] == ("dense", "int64", (), "raw")
    assert described["tokens"] == ("ragged", "int32", (None,), "zstd-dict")
    assert described["boxes"] == ("ragged", "float64", (None, None), "raw")
    assert described["jpeg"] == ("bytes", "uint8", (None,), "raw")
    assert described["caption"] == ("text", "uint8", (None,), "zstd")
    assert repr(cache.fields["image"]) == "<Field image: dense uint8[4, 5, 3], zstd, 23 records>"
    with pytest.raises(KeyError):
        cache.fields["split"]


def test_a_field_gives_records_and_batches(cache, samples, same):
    for name, field in cache.fields.items():
        assert len(field) == 23
        same(field[5], samples[5][name])
        same(field[-1], samples[-1][name])
        many = field[[3, -1]]
        records = many.to_list() if isinstance(many, RaggedArray) else list(many)
        assert len(records) == 2
        np.testing.assert_equal(records[1], samples[22][name])
        with pytest.raises(IndexError):
            field[23]


def test_lengths_count_elements_without_reading_payload(cache, samples):
    for name, field in cache.fields.items():
        lengths = field.lengths()
        assert lengths.dtype == np.int64
        expected = [
            len(v.encode()) if isinstance(v, str) else len(v) if isinstance(v, bytes) else np.size(v)
            for v in column(samples, name, range(23))
        ]
        assert lengths.tolist() == expected


def test_a_slice_of_a_fixed_field_inside_a_shard_is_a_view_of_the_file(path, samples):
    cache = Cache.open(path)
    inside = cache.fields["vector"][7:14]
    assert not inside.flags.writeable
    assert not inside.flags.owndata
    across = cache.fields["vector"][6:14]
    assert across.flags.writeable
    cache.close()
    np.testing.assert_equal(inside, np.stack(column(samples, "vector", range(7, 14))))
    np.testing.assert_equal(across, np.stack(column(samples, "vector", range(6, 14))))
    with pytest.raises(ValueError, match="read-only"):
        inside[0] = 0
