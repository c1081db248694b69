"""Zstd(dictionary="train"): made of the first samples, after the filter, or refused with advice."""

import numpy as np
import pytest

from dsrt_format import Dense, Manifest, SchemaError, Text, Zstd, dictionary, reference, validate
from dsrt_format.codecs import delta_encode
from dsrt_format.reference import writer

TRAIN = Zstd(dictionary="train")


def captions(count):
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


def body(cache, field):
    return (cache / "fields" / field / "dictionary.bin").read_bytes()[64:]


def test_values_come_back_and_records_get_smaller(tmp_path):
    samples = [{"text": text, "n": i} for i, text in enumerate(captions(1000))]
    reference.write(tmp_path / "trained", {"text": Text(codec=TRAIN)}, samples, {"n": "int32"})
    reference.write(tmp_path / "plain", {"text": Text(codec="zstd")}, samples, {"n": "int32"})
    assert reference.read(tmp_path / "trained") == samples
    assert validate(tmp_path / "trained") == []
    stored = [Manifest.load(tmp_path / name).fields[0] for name in ("trained", "plain")]
    assert (stored[0].codec, stored[0].dictionary.bytes > 256) == ("zstd-dict", True)
    assert stored[0].files[0].bytes < 0.8 * stored[1].files[0].bytes


def test_the_dictionary_does_not_depend_on_where_shards_end(tmp_path):
    samples = [{"text": text} for text in captions(400)]
    for name, per_shard in (("a", 2**20), ("b", 1), ("c", 7)):
        reference.write(tmp_path / name, {"text": Text(codec=TRAIN)}, samples, samples_per_shard=per_shard)
        assert reference.read(tmp_path / name) == samples
    assert body(tmp_path / "a", "text") == body(tmp_path / "b", "text") == body(tmp_path / "c", "text")
    assert Manifest.load(tmp_path / "c").shards == (7,) * 57 + (1,)


def test_only_the_first_samples_count_and_they_are_seen_filtered(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "TRAINING_BYTES", 4000)
    monkeypatch.setattr(dictionary, "TRAINING_BYTES", 4000)
    rows = np.cumsum(np.random.default_rng(1).integers(0, 3, (200, 50)), axis=1).astype(np.uint8)
    fields = {"row": Dense("uint8", (50,), codec=TRAIN, delta=1), "text": Text(codec=TRAIN)}
    texts = captions(200)
    samples = [{"row": row, "text": text} for row, text in zip(rows, texts, strict=True)]
    reference.write(tmp_path / "all", fields, samples)
    expected = dictionary.train_dictionary(delta_encode(row.tobytes(), 1) for row in rows[:80])
    assert body(tmp_path / "all", "row") == expected
    reference.write(tmp_path / "first", fields, samples[:100])
    for name in fields:
        assert body(tmp_path / "all", name) == body(tmp_path / "first", name)
    for found, sample in zip(reference.read(tmp_path / "all"), samples, strict=True):
        assert found["row"].tolist() == sample["row"].tolist()
        assert found["text"] == sample["text"]


def test_a_bound_on_what_is_held_ends_the_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "_MAX_HELD", 5000)
    samples = [{"image": np.full(100, i, np.uint8), "text": text} for i, text in enumerate(captions(200))]
    fields = {"image": Dense("uint8", (100,)), "text": Text(codec=TRAIN)}
    reference.write(tmp_path / "all", fields, samples)
    reference.write(tmp_path / "first", fields, samples[:50])
    assert body(tmp_path / "all", "text") == body(tmp_path / "first", "text")


@pytest.mark.parametrize("texts", [[], ["a caption of this and that"] * 6, ["short"] * 1000])
def test_too_little_is_refused_with_advice(tmp_path, texts):
    with pytest.raises(SchemaError, match=r"field 'text': .* Use zstd without a dictionary"):
        reference.write(tmp_path / "x", {"text": Text(codec=TRAIN)}, ({"text": text} for text in texts))
    assert list(tmp_path.iterdir()) == []
