"""merge: every value of the parts in order, files linked, and refusals that name part, field and shard."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dsrt_format import (
    CacheExistsError,
    Dense,
    FormatError,
    Manifest,
    NotPublishedError,
    Ragged,
    SchemaError,
    StaleCacheError,
    Text,
    Zstd,
    reference,
    validate,
)
from dsrt_format.checksum import blake3_digest
from dsrt_native import Cache, CacheWriter, Population, _native, merge, train_dictionary

FIELDS = {
    "image": Dense("uint8", (4, 5, 3), codec="zstd", delta=3),
    "vector": Dense("float32", (6,)),
    "tokens": Ragged("int32", codec=Zstd(3, dictionary=bytes(range(64)))),
    "caption": Text(codec="zstd"),
}
METADATA = {"split": "string", "score": "float32", "taken": "timestamp[ns, UTC]", "good": "bool"}
COUNT = 23


def sample(i: int) -> dict[str, object]:
    random = np.random.default_rng(i)
    return {
        "image": random.integers(0, 256, (4, 5, 3), np.uint8),
        "vector": random.standard_normal(6, np.float32),
        "tokens": random.integers(-9, 9, i % 5, np.int32),
        "caption": "größe\0" * (i % 3),
        "split": None if i % 3 == 0 else f"part {i} of a string that is longer than a view holds",
        "score": None if i % 4 == 0 else float(np.float32(random.standard_normal())),
        "taken": np.datetime64(1_600_000_000_123_456_789 + i, "ns"),
        "good": bool(i % 2),
    }


def write(path, numbers, fields=FIELDS, metadata=METADATA, weight=None, **options) -> Path:
    with CacheWriter(path, fields, metadata, samples_per_shard=4, **options) as writer:
        for number in numbers:
            given = sample(number) | {"weight": weight}
            writer.append({name: given[name] for name in (*fields, *metadata)})
    return path


@pytest.fixture
def parts(tmp_path) -> list[Path]:
    """Three parts, one of them without samples."""
    ends = [0, 9, 9, COUNT]
    return [write(tmp_path / f"part{n}", range(*ends[n : n + 2])) for n in range(3)]


@pytest.fixture
def forge_weight():
    """Writes a cache whose second weight is -1, under good digests."""

    def forge(path: Path) -> Path:
        write(path, range(3), {"vector": FIELDS["vector"]}, {"weight": "float64"}, weight=2.0)
        table = (path / "metadata.arrow").read_bytes()
        weights = np.full(3, 2.0).tobytes()
        assert table.count(weights) == 1
        table = table.replace(weights, np.array([2.0, -1.0, 2.0]).tobytes())
        manifest = Manifest.load(path)
        entry = replace(manifest.metadata, chunks=(blake3_digest(table).hex(),))
        for name, data in (
            ("metadata.arrow", table),
            ("manifest.json", replace(manifest, metadata=entry).sealed().to_bytes()),
        ):
            (path / name).unlink()
            (path / name).write_bytes(data)
        return path

    return forge


def shards(cache: Path) -> list[Path]:
    return sorted(cache.glob("fields/*/*.shard"))


@pytest.mark.parametrize("link", [True, False])
def test_every_value_of_the_parts_comes_in_order(tmp_path, parts, link, same):
    with merge(parts, tmp_path / "all", link=link) as cache:
        assert (len(cache), cache.manifest.name, cache.manifest.fingerprint) == (COUNT, "all", None)
        same(list(cache), [*Cache.open(parts[0]), *Cache.open(parts[2])])
    assert validate(tmp_path / "all") == []
    assert len(reference.read(tmp_path / "all")) == COUNT
    serial = write(tmp_path / "serial", range(COUNT))
    assert (tmp_path / "all/metadata.arrow").read_bytes() == (serial / "metadata.arrow").read_bytes()


def test_files_are_linked_and_survive_their_parts(tmp_path, parts):
    merge(parts, tmp_path / "all").close()
    inodes = [file.stat().st_ino for part in parts for file in sorted(part.glob("fields/image/*.shard"))]
    linked = sorted((tmp_path / "all/fields/image").iterdir())
    assert [file.stat().st_ino for file in linked] == inodes
    assert {(file.stat().st_nlink, file.stat().st_mode & 0o777) for file in linked} == {(2, 0o444)}
    for part in parts:
        shutil.rmtree(part)
    assert validate(tmp_path / "all") == []
    assert {file.stat().st_nlink for file in shards(tmp_path / "all")} == {1}


def test_a_whole_of_copies_shares_nothing(tmp_path, parts):
    merge(parts, tmp_path / "all", link=False).close()
    assert {file.stat().st_nlink for file in shards(tmp_path / "all")} == {1}
    assert {file.stat().st_mode & 0o777 for file in shards(tmp_path / "all")} == {0o444}


def test_open_caches_are_parts_too_and_the_manifest_takes_what_is_given(tmp_path, parts, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = [Cache.open(path.name) for path in parts]
    monkeypatch.chdir("/")
    cache = merge(iter(opened), tmp_path / "all", fingerprint="f", attributes={"mean": [0.5]})
    manifest = cache.manifest
    assert (manifest.fingerprint, manifest.attributes) == ("f", {"mean": [0.5]})
    assert manifest.shards == (4, 4, 1, 4, 4, 4, 2)
    # A whole is a cache like any other: a part of the next one, and of a population.
    again = merge([cache, write(tmp_path / "more", range(3))], tmp_path / "again")
    assert len(Population([again])) == COUNT + 3


def test_parts_of_the_plain_writer_merge_with_those_of_the_engine(tmp_path, parts):
    reference.write(tmp_path / "plain", FIELDS, map(sample, range(5)), METADATA, samples_per_shard=2)
    with merge([tmp_path / "plain", parts[2]], tmp_path / "all") as cache:
        assert cache.manifest.shards[:3] == (2, 2, 1)
    assert validate(tmp_path / "all") == []
    serial = write(tmp_path / "serial", [*range(5), *range(9, COUNT)])
    assert (tmp_path / "all/metadata.arrow").read_bytes() == (serial / "metadata.arrow").read_bytes()


def test_parts_share_a_trained_dictionary_or_are_refused_with_advice(tmp_path):
    texts = [f"the caption number {i * i} of a picture of a bicycle" for i in range(200)]
    shared = Zstd(dictionary=train_dictionary((text.encode() for text in texts), 1024))
    for name, codec in (("a", shared), ("b", shared), ("c", Zstd(dictionary=shared.dictionary + b"x"))):
        with CacheWriter(tmp_path / name, {"text": Text(codec=codec)}) as writer:
            for text in texts:
                writer.append({"text": f"{name} {text}"})
    with merge([tmp_path / "a", tmp_path / "b"], tmp_path / "all") as cache:
        assert [s["text"] for s in cache] == [f"{name} {text}" for name in "ab" for text in texts]
    with pytest.raises(FormatError, match="train_dictionary makes it") as caught:
        merge([tmp_path / "a", tmp_path / "c"], tmp_path / "other")
    error = caught.value
    assert (error.rule, error.cache, error.field) == ("R070", str(tmp_path / "c"), "text")


def test_other_fields_and_columns_are_refused(tmp_path):
    one = write(tmp_path / "one", [], {"x": Dense("int8")}, {"n": "int8"})
    for fields, metadata, rule in (
        ({"x": Dense("int8", (1,))}, {"n": "int8"}, "R070"),
        ({"y": Dense("int8")}, {"n": "int8"}, "R070"),
        ({"x": Dense("int8"), "y": Dense("int8")}, {"n": "int8"}, "R070"),
        ({"x": Dense("int8")}, {"n": "int16"}, "R071"),
        ({"x": Dense("int8")}, {}, "R071"),
    ):
        other = write(tmp_path / "other", [], fields, metadata)
        with pytest.raises(FormatError, match=rule) as caught:
            merge([one, other], tmp_path / "all")
        assert (caught.value.rule, caught.value.cache) == (rule, str(other))
        shutil.rmtree(other)
    assert sorted(os.listdir(tmp_path)) == ["one"]


def test_a_part_comes_once_unless_it_has_no_samples(tmp_path, parts):
    with pytest.raises(FormatError, match="given twice") as caught:
        merge([*parts, parts[0]], tmp_path / "all")
    assert caught.value.rule == "R070"
    assert len(merge([parts[1], parts[1]], tmp_path / "none")) == 0


def test_damage_is_named_and_leaves_nothing(tmp_path, parts):
    def damaged(file: str, at: int, link: bool) -> FormatError:
        copy = shutil.copytree(parts[2], tmp_path / "damaged")
        data = bytearray((copy / file).read_bytes())
        data[at] ^= 1
        (copy / file).unlink()
        (copy / file).write_bytes(data)
        with pytest.raises(FormatError) as caught:
            merge([parts[0], copy], tmp_path / "all", link=link)
        assert caught.value.cache == str(copy)
        shutil.rmtree(copy)
        assert sorted(os.listdir(tmp_path)) == ["part0", "part1", "part2"]
        return caught.value

    shard = "fields/caption/00001.shard"
    for link in (True, False):
        error = damaged(shard, 33, link)
        assert (error.rule, error.field, error.shard) == ("R031", "caption", 1)
        assert damaged("metadata.arrow", 2000, link).rule == "R041"
    error = damaged(shard, 64, False)
    assert (error.rule, error.field, error.shard) == ("R050", "caption", 1)


def test_what_is_no_cache_and_what_is_another_by_now_are_refused(tmp_path, parts):
    with pytest.raises(NotPublishedError, match="nowhere"):
        merge([parts[0], tmp_path / "nowhere"], tmp_path / "all")
    with pytest.raises(CacheExistsError):
        merge(parts, parts[0])
    opened = Cache.open(parts[0])
    write(parts[0], range(3), replace=True)
    with pytest.raises(StaleCacheError, match="another one by now"):
        merge([opened], tmp_path / "all")
    assert sorted(os.listdir(tmp_path)) == ["part0", "part1", "part2"]


def test_a_build_that_waits_to_be_gone_on_with_is_left_alone(tmp_path, parts):
    fields = {"x": Dense("int8")}
    with (
        contextlib.suppress(ZeroDivisionError),
        CacheWriter(tmp_path / "all", fields, fingerprint="f", samples_per_shard=1) as writer,
    ):
        for number in range(5):
            writer.append({"x": np.int8(number)})
        _ = 1 / 0
    with pytest.raises(CacheExistsError, match="5 samples that an earlier run made durable"):
        merge(parts, tmp_path / "all")
    with CacheWriter(tmp_path / "all", fields, fingerprint="f", samples_per_shard=1, resume=True) as writer:
        assert writer.resumed_from == 5
    with pytest.raises(CacheExistsError, match="published cache already"):
        merge(parts, tmp_path / "all")


def test_a_stored_weight_that_is_none_is_found(tmp_path, forge_weight):
    with pytest.raises(FormatError, match="-1") as caught:
        merge([forge_weight(tmp_path / "part")], tmp_path / "all")
    error = caught.value
    assert (error.rule, error.field, error.sample) == ("R046", "weight", 1)
    assert os.listdir(tmp_path) == ["part"]


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"parts": []}, ValueError, "no parts"),
        ({"parts": "part0"}, TypeError, "expected a list of paths"),
        ({"parts": [b"part0"]}, TypeError, "os.fsdecode"),
        ({"parts": [7]}, TypeError, "PathLike"),
        ({"path": "no name"}, SchemaError, "cannot have the name"),
        ({"fingerprint": 7}, TypeError, "fingerprint"),
        ({"attributes": {"x": float("nan")}}, SchemaError, "attributes"),
    ],
)
def test_arguments_are_checked(tmp_path, parts, arguments, error, said):
    given = {"parts": parts, "path": tmp_path / "all", **arguments}
    with pytest.raises(error, match=said):
        merge(given.pop("parts"), given.pop("path"), **given)
    assert len(os.listdir(tmp_path)) == 3


def test_ctrl_c_ends_a_merge_and_leaves_nothing(tmp_path):
    path = tmp_path / "part"
    with CacheWriter(path, {"x": Dense("uint8", (1 << 20,))}) as writer:
        for i in range(96):
            writer.append({"x": np.full(1 << 20, i, np.uint8)})
    pressed = threading.Timer(0.01, signal.raise_signal, [signal.SIGINT])
    # The timer starts inside, so that it cannot be too early; nearly always the first merge is the last.
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  for that reason
        pressed.start()
        for number in range(1000):
            merge([path], tmp_path / f"all{number}", link=False).close()
    pressed.join()
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


def test_many_parts_need_few_files_at_once(tmp_path):
    for number in range(60):
        reference.write(tmp_path / f"part{number}", {"x": Dense("int32")}, [{"x": np.int32(number)}])
    script = (
        "import resource, dsrt_native; resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50));"
        "dsrt_native.merge([f'part{n}' for n in range(60)], 'all')"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert Cache.open(tmp_path / "all").fields["x"][:].tolist() == list(range(60))


def test_a_warning_that_is_an_error_says_that_the_whole_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(_native, "merge", lambda *_, **__: ["nobody knows whether it survives"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="nobody knows") as caught:
            merge([tmp_path / "a"], tmp_path / "whole")
    assert caught.value.__notes__ == [f"{tmp_path / 'whole'}: the cache was published all the same"]
