"""build: built, reused, rebuilt, or refused with what was there left alone."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dsrt_format import (
    CacheExistsError,
    Dense,
    FormatError,
    Manifest,
    SchemaError,
    StaleCacheError,
    Text,
    UnknownVersionError,
    Zstd,
    reference,
)
from dsrt_native import Source, build

from .directories import names


class Numbers:
    """A source with random access."""

    fields: ClassVar = {"x": Dense("int64")}
    metadata: ClassVar = {"half": "int64"}

    def __init__(self, values: list[Any], *, name: str = "numbers", fingerprint: str | None = None) -> None:
        self.values = values
        self.name = name
        self.fingerprint = fingerprint

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"x": self.values[i], "half": i // 2}


class Stream:
    """A source that can only be gone through once, and does not know its end."""

    name = "stream"
    fields: ClassVar = {"x": Dense("int64")}
    metadata: ClassVar = {}
    attributes: ClassVar = {"note": "as it came"}
    samples_per_shard = 2

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return ({"x": i} for i in range(5))


def values(path: Path) -> list[int]:
    return [int(sample["x"]) for sample in reference.read(path)]


def test_a_source_with_random_access_is_built(tmp_path):
    result = build(Numbers([5, 6, 7]), tmp_path / "root")
    assert (result.name, result.path, result.status) == ("numbers", tmp_path / "root" / "numbers", "built")
    assert result.num_samples == 3
    assert reference.read(result.path) == [{"x": 5, "half": 0}, {"x": 6, "half": 0}, {"x": 7, "half": 1}]


def test_a_source_that_is_iterated_is_built_with_its_wishes(tmp_path):
    result = build(Stream(), tmp_path)
    assert values(result.path) == [0, 1, 2, 3, 4]
    manifest = Manifest.load(result.path)
    assert (manifest.shards, manifest.attributes, manifest.fingerprint) == (
        (2, 2, 1),
        {"note": "as it came"},
        None,
    )


def test_arguments_come_before_the_wishes_of_the_source(tmp_path):
    result = build(Stream(), tmp_path, samples_per_shard=4)
    assert Manifest.load(result.path).shards == (4, 1)
    result = build(Numbers([1, 2]), tmp_path, shard_bytes=8)
    assert Manifest.load(result.path).shards == (1, 1)


def test_sources_are_known_by_their_shape():
    assert isinstance(Numbers([]), Source)
    assert isinstance(Stream(), Source)
    assert not isinstance(object(), Source)


def test_the_same_fingerprint_is_reused_without_asking_for_a_sample(tmp_path):
    build(Numbers([1], fingerprint="a"), tmp_path)
    before = (tmp_path / "numbers" / "manifest.json").stat()
    for on_stale in ("error", "rebuild", "reuse"):
        result = build(Numbers([None], fingerprint="a"), tmp_path, on_stale=on_stale)
        assert (result.status, result.num_samples) == ("reused", 1)
    assert (tmp_path / "numbers" / "manifest.json").stat() == before


def test_another_fingerprint_is_an_error_that_names_both_and_the_ways_out(tmp_path):
    build(Numbers([1], fingerprint="a"), tmp_path)
    with pytest.raises(
        StaleCacheError, match=r"'a'.*'b'.*on_stale='rebuild'.*on_stale='reuse'.*another name"
    ):
        build(Numbers([2], fingerprint="b"), tmp_path)
    assert values(tmp_path / "numbers") == [1]


def test_another_fingerprint_can_be_rebuilt_or_reused(tmp_path):
    build(Numbers([1], fingerprint="a"), tmp_path)
    assert build(Numbers([2], fingerprint="b"), tmp_path, on_stale="reuse").status == "reused"
    assert values(tmp_path / "numbers") == [1]
    assert build(Numbers([2], fingerprint="b"), tmp_path, on_stale="rebuild").status == "rebuilt"
    assert values(tmp_path / "numbers") == [2]
    assert Manifest.load(tmp_path / "numbers").fingerprint == "b"
    assert names(tmp_path) == ["numbers"]


def test_without_a_fingerprint_nothing_is_the_same(tmp_path):
    build(Numbers([1]), tmp_path)
    with pytest.raises(CacheExistsError, match="no fingerprint"):
        build(Numbers([2]), tmp_path)
    with pytest.raises(StaleCacheError, match="fingerprint None"):
        build(Numbers([2], fingerprint="b"), tmp_path)
    assert build(Numbers([2]), tmp_path, on_stale="reuse").status == "reused"
    assert build(Numbers([2]), tmp_path, on_stale="rebuild").status == "rebuilt"
    assert values(tmp_path / "numbers") == [2]


def test_a_cache_of_another_name_that_was_moved_here_is_stale(tmp_path):
    build(Numbers([1], name="other", fingerprint="a"), tmp_path)
    (tmp_path / "other").rename(tmp_path / "numbers")
    with pytest.raises(StaleCacheError, match="'other'"):
        build(Numbers([2], fingerprint="a"), tmp_path)


@pytest.mark.parametrize("on_stale", ["error", "rebuild", "reuse"])
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_what_is_no_cache_is_left_alone(tmp_path, make, on_stale):
    make(tmp_path / "numbers")
    with pytest.raises(CacheExistsError, match="not a cache"):
        build(Numbers([1], fingerprint="a"), tmp_path, on_stale=on_stale)
    assert names(tmp_path) == ["numbers"]


@pytest.mark.parametrize("on_stale", ["error", "rebuild", "reuse"])
def test_a_damaged_manifest_or_one_from_the_future_is_not_touched(tmp_path, on_stale):
    manifest = build(Numbers([1]), tmp_path).path / "manifest.json"
    good = manifest.read_bytes()
    manifest.chmod(0o644)
    manifest.write_bytes(good.replace(b"numbers", b"numbres"))
    with pytest.raises(FormatError) as caught:
        build(Numbers([1], fingerprint="a"), tmp_path, on_stale=on_stale)
    assert caught.value.rule == "R003"
    import blake3

    rest = b"{" + good[77:].replace(b'"format":1', b'"format":2')
    manifest.write_bytes(b'{"digest":"' + blake3.blake3(rest).hexdigest().encode() + b'",' + rest[1:])
    with pytest.raises(UnknownVersionError):
        build(Numbers([1], fingerprint="a"), tmp_path, on_stale=on_stale)


def test_a_cache_with_a_short_file_is_not_reused(tmp_path):
    file = build(Numbers([1, 2], fingerprint="a"), tmp_path).path / "fields" / "x" / "00000.shard"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1])
    for on_stale in ("error", "reuse"):
        with pytest.raises(FormatError) as caught:
            build(Numbers([1, 2], fingerprint="a"), tmp_path, on_stale=on_stale)
        assert (caught.value.rule, caught.value.field, caught.value.shard) == ("R030", "x", 0)
        assert "on_stale='rebuild'" in caught.value.__notes__[0]
    assert build(Numbers([1, 2], fingerprint="a"), tmp_path, on_stale="rebuild").status == "rebuilt"
    assert values(tmp_path / "numbers") == [1, 2]


def test_an_exception_of_the_source_names_source_and_sample_and_leaves_nothing(tmp_path):
    class Broken(Stream):
        def __iter__(self) -> Iterator[dict[str, Any]]:
            yield {"x": 1}
            yield {"x": 2}
            raise LookupError("no more files")

    with pytest.raises(LookupError, match="no more files") as caught:
        build(Broken(), tmp_path / "root")
    (note,) = caught.value.__notes__
    assert note.startswith("while building 'stream' from ")
    assert note.endswith("Broken, at sample 2")
    assert names(tmp_path) == []


def test_a_sample_that_does_not_fit_leaves_what_was_there(tmp_path):
    build(Numbers([1], fingerprint="a"), tmp_path)
    with pytest.raises(SchemaError, match="field x, sample 1") as caught:
        build(Numbers([1, "two"], fingerprint="b"), tmp_path, on_stale="rebuild")
    assert "at sample 1" in caught.value.__notes__[0]
    assert values(tmp_path / "numbers") == [1]
    assert names(tmp_path) == ["numbers"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_leaves_nothing(tmp_path, error):
    class Interrupted(Stream):
        def __iter__(self) -> Iterator[dict[str, Any]]:
            yield {"x": 1}
            raise error

    with pytest.raises(error):
        build(Interrupted(), tmp_path)
    assert names(tmp_path) == []


def test_a_cache_that_a_dead_rebuild_had_moved_away_is_found_again(tmp_path):
    build(Numbers([1], fingerprint="a"), tmp_path)
    (tmp_path / ".numbers.building").mkdir()
    (tmp_path / "numbers").rename(tmp_path / ".numbers.building" / "old")
    assert build(Numbers([2], fingerprint="a"), tmp_path).status == "reused"
    assert values(tmp_path / "numbers") == [1]
    assert names(tmp_path) == ["numbers"]


def test_a_link_to_the_cache_that_a_dead_rebuild_had_moved_away_does_not_stand_in_for_it(tmp_path):
    target, old = _moved_away(tmp_path)
    target.symlink_to(old)
    assert build(Numbers([3], fingerprint="a"), tmp_path).status == "reused"
    assert values(target) == [1, 2]
    with pytest.raises(CacheExistsError, match=r"old is the old cache of .* there is a symbolic link now"):
        build(Numbers([3], fingerprint="b"), tmp_path, on_stale="rebuild")
    assert values(old) == [1, 2]


def test_a_cache_that_a_dead_rebuild_had_moved_away_stays_until_its_copy_is_whole(tmp_path):
    target, old = _moved_away(tmp_path)
    shutil.copytree(old, target)
    for lost in ("fields/x/00001.shard", "metadata.arrow"):
        (target / lost).unlink()
        said = rf"old is the old cache of .*{re.escape(lost)} is missing"
        with pytest.raises(CacheExistsError, match=said):
            build(Numbers([3], fingerprint="b"), tmp_path, on_stale="rebuild")
        assert values(old) == [1, 2]
        shutil.copy(old / lost, target / lost)
    assert build(Numbers([3], fingerprint="a"), tmp_path).status == "reused"
    assert names(tmp_path) == ["numbers"]
    assert values(target) == [1, 2]


def _moved_away(root: Path) -> tuple[Path, Path]:
    """Return target and work directory's ``old`` as a rebuild leaves them that died between two renames."""
    target = build(Numbers([1, 2], fingerprint="a"), root, samples_per_shard=1).path
    (root / ".numbers.building").mkdir()
    return target, target.rename(root / ".numbers.building" / "old")


@pytest.mark.parametrize(
    ("source", "arguments", "error", "said"),
    [
        (object(), {}, TypeError, "no attribute 'name'"),
        (Numbers, {}, TypeError, r"Numbers is a class; give an instance of it, Numbers\(\)"),
        (Numbers([1]), {"on_stale": "resume"}, ValueError, "'rebuild'"),
        (Numbers([1], name="a.b"), {}, SchemaError, "name of a cache"),
        (Numbers([1], name="a/b"), {}, SchemaError, "name of a cache"),
        (Numbers([1]), {"samples_per_shard": 0}, ValueError, "samples_per_shard"),
        (
            type("Nothing", (), {"name": "n", "fields": {"x": Dense("int8")}, "metadata": {}})(),
            {},
            TypeError,
            "__iter__",
        ),
    ],
)
def test_what_is_no_source_is_refused(tmp_path, source, arguments, error, said):
    with pytest.raises(error, match=said):
        build(source, tmp_path / "root", **arguments)
    assert names(tmp_path) == []


class Counted(Numbers):
    """It says how many samples it has, and its iterator gives what it gives."""

    def __init__(self, said: int, given: int) -> None:
        super().__init__([0] * said)
        self.given = given

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return ({"x": i, "half": None} for i in range(self.given))


@pytest.mark.parametrize(
    ("said", "given", "why"),
    [(5, 4, "has 5 samples, and it ends after 4"), (0, 1, "has 0 samples, and it gives more")],
)
def test_more_or_fewer_samples_than_a_source_says_are_not_published(tmp_path, said, given, why):
    with pytest.raises(SchemaError, match=why):
        build(Counted(said, given), tmp_path)
    assert names(tmp_path) == []


def test_an_iterator_that_runs_out_inside_of_a_source_does_not_end_it(tmp_path):
    class Exhausted(Numbers):
        def __getitem__(self, i: int) -> dict[str, Any]:
            return super().__getitem__(i) if i < 2 else next(iter([]))

    with pytest.raises(RuntimeError, match="StopIteration"):
        build(Exhausted([1, 2, 3]), tmp_path)
    assert names(tmp_path) == []


def test_a_fingerprint_that_cannot_be_made_is_no_missing_one(tmp_path):
    class Broken(Stream):
        @property
        def fingerprint(self) -> str:
            return self.no_such_attribute

    with pytest.raises(AttributeError, match="no_such_attribute"):
        build(Broken(), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("on_stale", ["error", "rebuild", "reuse"])
def test_a_fingerprint_is_a_str_also_where_a_cache_is_there(tmp_path, on_stale):
    build(Numbers([1], fingerprint="5"), tmp_path)
    with pytest.raises(TypeError, match="fingerprint: expected str or None, not 5"):
        build(Numbers([1], fingerprint=5), tmp_path, on_stale=on_stale)
    assert values(tmp_path / "numbers") == [1]


def test_a_fingerprint_is_asked_for_once(tmp_path):
    class Expensive(Stream):
        asked = 0

        @property
        def fingerprint(self) -> str:
            self.asked += 1
            return "a"

    for _ in range(2):
        build(source := Expensive(), tmp_path)
        assert source.asked == 1


class OnlyOnce:
    """A source that is its own iterator."""

    name = "once"
    fields: ClassVar = {"x": Dense("int64")}
    metadata: ClassVar[dict[str, str]] = {}
    fingerprint = "f"
    samples_per_shard = 2

    def __init__(self) -> None:
        self.next = 0

    def __iter__(self) -> "OnlyOnce":
        return self

    def __next__(self) -> dict[str, Any]:
        self.next += 1
        if self.next == 9:
            raise OSError("gone for a moment")
        return {"x": self.next}


def test_a_source_that_can_be_gone_through_only_once_is_refused_and_not_taken_up_where_it_stands(tmp_path):
    with pytest.raises(TypeError, match=r"OnlyOnce\.__iter__ returns the source itself"):
        build(OnlyOnce(), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("fields", "metadata", "said"),
    [
        ({"x": Dense("int32")}, {"half": "int64"}, "'x' is dense int64 () in the cache, and dense int32 ()"),
        (
            {"x": Dense("int64"), "y": Text()},
            {"half": "int64"},
            "'y' is missing in the cache, and text uint8",
        ),
        ({"x": Dense("int64")}, {}, "'half' is metadata int64 in the cache, and missing in the source"),
        ({"x": Dense("int64")}, {"half": "int8"}, "'half' is metadata int64 in the cache, and metadata int8"),
    ],
)
def test_a_cache_of_the_same_fingerprint_and_another_schema_is_not_reused(tmp_path, fields, metadata, said):
    build(Numbers([1, 2], fingerprint="f"), tmp_path)
    other = Numbers([1, 2], fingerprint="f")
    other.fields, other.metadata = fields, metadata
    with pytest.raises(StaleCacheError, match=re.escape(said)):
        build(other, tmp_path)
    assert build(other, tmp_path, on_stale="reuse").status == "reused"


def test_another_codec_does_not_make_a_cache_another_one(tmp_path):
    build(Numbers([1, 2], fingerprint="f"), tmp_path)
    other = Numbers([1, 2], fingerprint="f")
    other.fields = {"x": Dense("int64", codec="zstd")}
    assert build(other, tmp_path).status == "reused"


def test_where_no_shard_was_full_the_notes_say_that_nothing_is_kept_and_what_would_help(tmp_path):
    with pytest.raises(SchemaError) as caught:
        build(Numbers([1, 2, "three"], fingerprint="f"), tmp_path)
    assert caught.value.__notes__[-1] == (
        "no shard was full, so none of 2 samples is kept; with a smaller samples_per_shard, such as 64, the "
        "next run would go on from the last full one"
    )
    assert names(tmp_path) == []


def test_where_samples_are_held_back_for_a_dictionary_the_notes_say_so(tmp_path):
    class Texts(Numbers):
        fields: ClassVar = {"x": Text(codec=Zstd(dictionary="train"))}
        metadata: ClassVar = {}

        def __getitem__(self, i):
            if i == 150:
                raise OSError("the disk of the texts is gone")
            return {"x": f"text {i}"}

    with pytest.raises(OSError, match="gone") as caught:
        build(Texts(range(200), fingerprint="f"), tmp_path, samples_per_shard=50)
    assert caught.value.__notes__[-1] == (
        "none of 150 samples is kept: no shard was full, or they were held back to train a dictionary on; "
        "with one from train_dictionary nothing is held back"
    )
    assert names(tmp_path) == []
