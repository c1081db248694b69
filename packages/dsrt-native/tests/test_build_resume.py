"""Builds that were ended go on: from what is durable, asking for what is missing, to the same bytes."""

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from dsrt_format import Dense, Manifest, Ragged, SchemaError, StaleCacheError, WorkerError, reference
from dsrt_native import BuildProgress, build, build_all

from .directories import files_of, names

COUNT = 30
DURABLE = 20


def sealed(root: Path, name: str, shards: int) -> None:
    """Wait until that many shards are in the journal: they are synced on another thread."""
    journal = root / f".{name}.building" / "journal"
    end = time.monotonic() + 30
    while not journal.exists() or journal.read_bytes().count(b"\n") < 1 + shards:
        assert time.monotonic() < end, f"{shards} shards were not sealed"
        time.sleep(0.005)


class Indexed:
    """Shards of five; raises something at one sample, once the shards before it are durable."""

    name = "source"
    fields: ClassVar = {"x": Dense("int64"), "r": Ragged("uint8", codec="zstd")}
    metadata: ClassVar = {"s": "string"}
    samples_per_shard = 5

    def __init__(
        self,
        root: Path,
        *,
        error: BaseException | None = None,
        count: int = COUNT,
        fingerprint: str | None = "a",
    ) -> None:
        self.root, self.error, self.count, self.fingerprint = root, error, count, fingerprint
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> dict[str, Any]:
        self.asked.append(i)
        if self.error is not None and i == DURABLE + 2:
            sealed(self.root, self.name, DURABLE // 5)
            raise self.error
        return {"x": i, "r": np.arange(i, dtype=np.uint8), "s": None if i % 3 else f"sample {i}"}


class Iterated:
    """The same, to be iterated only."""

    name = "source"
    fields, metadata, samples_per_shard = Indexed.fields, Indexed.metadata, 5

    def __init__(self, root: Path, **arguments: Any) -> None:
        self.inner = Indexed(root, **arguments)
        self.fingerprint = self.inner.fingerprint

    @property
    def asked(self) -> list[int]:
        return self.inner.asked

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self.inner.__getitem__, range(len(self.inner)))


class From(Iterated):
    """The same, and it can begin anywhere."""

    def iter_from(self, i: int) -> Iterator[dict[str, Any]]:
        return map(self.inner.__getitem__, range(i, len(self.inner)))


class Both(Indexed):
    """Random access, and a way to begin anywhere that comes before it."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self.__getitem__, range(len(self)))

    def iter_from(self, i: int) -> Iterator[dict[str, Any]]:
        self.asked.append(-1)
        return map(self.__getitem__, range(i, len(self)))


def ended(
    source: Any, root: Path, error: type[BaseException] = LookupError, **arguments: Any
) -> BaseException:
    with pytest.raises(error) as caught:
        build(source, root, **arguments)
    return caught.value


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, bytes]:
    """The files of a build that nothing ended."""
    return files_of(build(Indexed(tmp_path), tmp_path / "whole").path)


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (Indexed, [*range(DURABLE, COUNT)]),
        (From, [*range(DURABLE, COUNT)]),
        (Both, [-1, *range(DURABLE, COUNT)]),
        (Iterated, [*range(COUNT)]),
    ],
)
def test_only_what_is_missing_is_asked_for_where_the_source_can_begin_there(root, whole, kind, asked):
    ended(kind(root, error=LookupError()), root)
    assert names(root) == [".source.building"]
    source = kind(root)
    result = build(source, root)
    assert (result.status, result.num_samples, result.resumed_from) == ("built", COUNT, DURABLE)
    assert result.restarted is None
    assert source.asked == asked
    assert files_of(result.path) == whole
    assert names(root) == ["source"]


@pytest.mark.parametrize("error", [LookupError("gone"), KeyboardInterrupt(), SystemExit(3)])
def test_the_notes_of_whatever_ended_it_say_how_many_samples_are_durable(root, error):
    notes = ended(Indexed(root, error=error), root, type(error)).__notes__
    kept = f"{root / 'source'}: {DURABLE} samples are durable; the next run goes on from there"
    assert notes[-1] == kept
    if isinstance(error, LookupError):
        assert notes[0].endswith(f"at sample {DURABLE + 2}")


def test_a_build_may_be_ended_again_and_again(root, whole):
    for _ in range(3):
        source = Indexed(root, error=LookupError())
        ended(source, root)
        assert source.asked[-1] == DURABLE + 2
    assert build(Indexed(root), root).resumed_from == DURABLE
    assert files_of(root / "source") == whole


def test_workers_and_threads_may_differ_from_run_to_run(root, whole, worker_sources, tmp_path):
    ended(Indexed(root, error=LookupError()), root, threads=3)
    assert build(Indexed(root), root, threads=1).resumed_from == DURABLE
    assert files_of(root / "source") == whole


def test_workers_make_only_what_is_missing(tmp_path, worker_sources):
    options = {"fingerprint": "a", "samples_per_shard": 5}
    build(worker_sources.Squares(63, **options), tmp_path / "whole")
    root = tmp_path / "root"
    with pytest.raises(WorkerError) as caught:
        build(worker_sources.LeavingLate(63, root=root, **options), root, workers=2)
    kept = int(caught.value.__notes__[-1].split(": ")[1].split()[0])
    assert 20 <= kept <= 60
    calls = tmp_path / "calls"
    result = build(worker_sources.Squares(63, calls=calls, **options), root, workers=2)
    assert (result.num_samples, result.resumed_from) == (63, kept)
    assert sorted(int(line.split()[0]) for line in calls.read_text().splitlines()) == list(range(kept, 63))
    assert files_of(result.path) == files_of(tmp_path / "whole" / "squares")


def test_a_build_whose_samples_are_all_durable_asks_for_none(root, whole):
    short = Indexed(root, error=LookupError(), count=DURABLE + 5)
    ended(short, root)
    source = Indexed(root, count=DURABLE)
    assert build(source, root, workers=2).num_samples == DURABLE
    assert source.asked == []


@pytest.mark.parametrize(
    ("kind", "workers"), [(Indexed, 0), (Indexed, 2), (Iterated, 0), (From, 0), (Both, 0)]
)
def test_a_source_that_has_become_shorter_is_an_error_and_the_samples_stay(root, kind, workers):
    ended(kind(root, error=LookupError()), root)
    if kind is not From:
        error = ended(kind(root, count=DURABLE - 1), root, StaleCacheError, workers=workers)
        assert f"has {DURABLE - 1} samples, and {DURABLE} are durable" in str(error)
        assert "resume=False" in str(error)
    assert build(kind(root), root).resumed_from == DURABLE


def test_an_iterator_that_begins_somewhere_else_is_noticed_by_the_number_of_samples(root):
    class Late(Both):
        def iter_from(self, i: int) -> Iterator[dict[str, Any]]:
            return super().iter_from(i + 1)

    ended(Both(root, error=LookupError()), root)
    error = ended(Late(root), root, SchemaError)
    assert f"has {COUNT} samples, and it ends after {COUNT - 1}" in str(error)
    assert names(root) == [".source.building"]


def test_resume_false_starts_over(root, whole):
    ended(Indexed(root, error=LookupError()), root)
    source = Indexed(root)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = build(source, root, resume=False)
    assert (result.num_samples, result.resumed_from, source.asked) == (COUNT, 0, list(range(COUNT)))
    assert f"{DURABLE} samples" in result.restarted
    assert files_of(result.path) == whole


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda source: setattr(source, "fingerprint", "b"), "fingerprint"),
        (lambda source: setattr(source, "samples_per_shard", 6), "samples_per_shard"),
        (lambda source: setattr(source, "attributes", {"a": 1}), "attributes"),
        (lambda source: setattr(source, "metadata", {"s": "binary"}), "columns"),
    ],
)
def test_another_plan_starts_over_and_says_in_what_it_differs(root, change, said):
    ended(Indexed(root, error=LookupError()), root)
    source = Indexed(root)
    change(source)
    if source.metadata != Indexed.metadata:
        source.__class__ = type("Binary", (Indexed,), {"__getitem__": _with_bytes})
    with pytest.warns(RuntimeWarning, match=said):
        result = build(source, root)
    assert (result.num_samples, result.resumed_from) == (COUNT, 0)
    assert f"{DURABLE} samples" in result.restarted
    assert said in result.restarted


def test_a_damaged_journal_starts_over_and_says_so(root, whole):
    ended(Indexed(root, error=LookupError()), root)
    journal = root / ".source.building" / "journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([b"0", lines[0][1:], *lines[1:]]))
    with pytest.warns(RuntimeWarning, match=r"line 1 of .*journal is damaged \(R060\)"):
        result = build(Indexed(root), root)
    assert (result.num_samples, result.resumed_from) == (COUNT, 0)
    assert "discarded" in result.restarted
    assert files_of(result.path) == whole


def _with_bytes(self: Indexed, i: int) -> dict[str, Any]:
    return Indexed.__getitem__(self, i) | {"s": b"x"}


def test_without_a_fingerprint_nothing_is_kept_and_the_error_says_so(root):
    error = ended(Indexed(root, error=LookupError(), fingerprint=None), root)
    assert "there is no fingerprint" in error.__notes__[-1]
    assert names(root) == []
    source = Indexed(root, fingerprint=None)
    assert build(source, root).resumed_from == 0
    assert len(source.asked) == COUNT


def test_a_rebuild_goes_on_and_the_old_cache_stays_until_then(root, whole):
    build(Indexed(root, fingerprint="old", count=3), root)
    ended(Indexed(root, error=LookupError()), root, on_stale="rebuild")
    assert Manifest.load(root / "source").num_samples == 3
    with pytest.raises(StaleCacheError):
        build(Indexed(root), root)
    result = build(Indexed(root), root, on_stale="rebuild")
    assert (result.status, result.resumed_from) == ("rebuilt", DURABLE)
    assert files_of(result.path) == whole
    assert names(root) == ["source"]


def test_a_reused_cache_is_rid_of_what_its_run_left_when_it_died_just_after_publishing(root):
    build(Indexed(root), root)
    (root / ".source.building").mkdir()
    (root / ".source.building" / "lock").touch()
    assert build(Indexed(root), root).status == "reused"
    assert names(root) == ["source"]


def test_reusing_a_cache_leaves_an_unfinished_rebuild_of_it_alone(root):
    build(Indexed(root), root)
    ended(Indexed(root, error=LookupError(), fingerprint="b"), root, on_stale="rebuild")
    assert build(Indexed(root), root).status == "reused"
    assert names(root) == [".source.building", "source"]
    result = build(Indexed(root, fingerprint="b"), root, on_stale="rebuild")
    assert (result.status, result.resumed_from) == ("rebuilt", DURABLE)


def test_progress_knows_what_is_of_an_earlier_run(root):
    ended(Indexed(root, error=LookupError()), root)
    seen: list[BuildProgress] = []
    build(Indexed(root), root, progress=seen.append)
    assert seen[0] == BuildProgress("source", DURABLE, COUNT, DURABLE, None, None)
    assert (seen[-1].done, seen[-1].resumed_from) == (COUNT, DURABLE)


def test_build_all_goes_on_with_what_failed(root):
    (failed,) = build_all([Indexed(root, error=LookupError())], root)
    assert f"{DURABLE} samples are durable" in failed.traceback
    (built,) = build_all([Indexed(root)], root)
    assert (built.status, built.resumed_from) == ("built", DURABLE)
    assert [int(sample["x"]) for sample in reference.read(built.path)] == list(range(COUNT))


@pytest.mark.parametrize("resume", [None, 1, "yes"])
def test_resume_is_true_or_false(root, resume):
    with pytest.raises(TypeError, match="resume="):
        build(Indexed(root), root, resume=resume)
