"""train_dictionary: dictionaries that help, from records of any kind, or an error with advice."""

import ml_dtypes
import numpy as np
import pytest

from dsrt_format import SchemaError, Text, Zstd, reference
from dsrt_native import Cache, CacheWriter, train_dictionary


def captions(count: int) -> list[str]:
    random = np.random.default_rng(7)
    words = [
        "a red",
        "a blue",
        "bicycle",
        "house",
        "leaning against",
        "in front of",
        "the old",
        "wall",
        "tree",
    ]
    return [" ".join(random.choice(words, 12)) for _ in range(count)]


def stored(root, name: str, codec: Zstd, texts: list[str]) -> int:
    """The bytes of the shard of a cache of these texts, which both readers find in it."""
    path = root / name
    with CacheWriter(path, {"text": Text(codec=codec)}) as writer:
        for text in texts:
            writer.append({"text": text})
    assert [sample["text"] for sample in reference.read(path)] == texts
    assert [sample["text"] for sample in Cache.open(path)] == texts
    return (path / "fields" / "text" / "00000.shard").stat().st_size


def test_a_trained_dictionary_makes_small_records_smaller(tmp_path):
    texts = captions(2000)
    dictionary = train_dictionary((text.encode() for text in texts[:1000]), 2048)
    assert len(dictionary) <= 2048
    plain = stored(tmp_path, "plain", Zstd(), texts)
    trained = stored(tmp_path, "trained", Zstd(dictionary=dictionary), texts)
    assert trained < 0.8 * plain


def test_the_same_records_give_the_same_dictionary_however_they_are_held():
    records = [np.frombuffer(text.encode()[:64], np.uint8) for text in captions(1000)]
    expected = train_dictionary(records, 1024)
    for convert in (
        bytes,
        bytearray,
        memoryview,
        lambda record: record.reshape(8, 8),
        lambda record: record.view("M8[us]"),
        lambda record: record.view(ml_dtypes.bfloat16).reshape(4, 8),
        lambda record: np.asfortranarray(record.reshape(8, 8)),
        lambda record: memoryview(np.repeat(record, 2))[::2],
    ):
        assert train_dictionary(map(convert, records), 1024) == expected


def test_no_more_is_drawn_than_counts():
    drawn = 0

    def endless():
        nonlocal drawn
        while True:
            yield from (text.encode() for text in captions(100))
            drawn += 1

    train_dictionary(endless(), 256)
    assert drawn < 10


@pytest.mark.parametrize("records", [[], [b"abcdefgh" * 9] * 6, [b"1234567"] * 10_000])
def test_too_little_is_refused_with_advice(records):
    with pytest.raises(SchemaError, match="use zstd without a dictionary"):
        train_dictionary(records)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("text", r"record 1: expected bytes or a NumPy array, not str; call \.encode\(\) first"),
        (7, "record 1: .* not int"),
        (None, "record 1: .* not NoneType"),
        (np.array([None]), "record 1: expected an array as a field takes it"),
        (np.ma.array([1]), "record 1: expected an array as a field takes it"),
        (np.array([1], ">i4"), "record 1: expected an array as a field takes it"),
    ],
)
def test_a_record_of_another_type_is_named(record, said):
    with pytest.raises(TypeError, match=said):
        train_dictionary([b"good", record])


@pytest.mark.parametrize(("size", "error"), [(255, ValueError), (2**20 + 1, ValueError), ("1", TypeError)])
def test_sizes_are_checked(size, error):
    with pytest.raises(error, match="size="):
        train_dictionary([], size)
