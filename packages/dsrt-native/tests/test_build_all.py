"""build_all: one outcome a source, in order; one that fails stops nobody, and its traceback is kept."""

import pytest

from dsrt_format import CacheExistsError, Dense, SchemaError, StaleCacheError, reference
from dsrt_native import build, build_all

from .directories import names


class Counting:
    fields = {"x": Dense("int64")}  # noqa: RUF012  # as people write it
    metadata = {}  # noqa: RUF012  # likewise

    def __init__(self, name, count=3, *, fingerprint=None, error=None):
        self.name, self.count, self.fingerprint, self.error = name, count, fingerprint, error

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.error is not None and i == 2:
            raise self.error
        return {"x": i}


def test_one_failing_source_stops_no_other(tmp_path):
    sources = [Counting("a"), Counting("b", error=LookupError("no b")), object(), Counting("c", 5)]
    a, b, what, c = build_all(sources, tmp_path)
    assert [(r.name, r.status, r.num_samples) for r in (a, b, what, c)] == [
        ("a", "built", 3),
        ("b", "failed", 0),
        ("object", "failed", 0),
        ("c", "built", 5),
    ]
    assert names(tmp_path) == ["a", "c"]
    assert (b.path, c.path) == (tmp_path / "b", tmp_path / "c")
    assert (a.error, a.traceback, a.restarted, a.resumed_from) == (None, None, None, 0)


def test_a_source_that_cannot_even_say_its_name_stops_no_other(tmp_path):
    class Nameless(Counting):
        @property
        def name(self):
            raise LookupError("no name")

        @name.setter
        def name(self, name):
            pass

    nameless, other = build_all([Nameless("a"), Counting("b")], tmp_path)
    assert (nameless.name, nameless.status, type(nameless.error)) == (
        Nameless.__qualname__,
        "failed",
        LookupError,
    )
    assert other.status == "built"


def test_the_error_and_its_traceback_are_kept(tmp_path):
    (result,) = build_all([Counting("b", error=LookupError("no b"))], tmp_path)
    assert repr(result.error) == "LookupError('no b')"
    assert result.traceback.startswith("Traceback (most recent call last):\n")
    for line in ("test_build_all.py", "raise self.error", "LookupError: no b", "at sample 2"):
        assert line in result.traceback
    with pytest.raises(LookupError, match="no b"):
        raise result.error


def test_all_arguments_of_build_hold_for_every_source(tmp_path):
    seen = []
    sources = [Counting("a", fingerprint="1"), Counting("b", fingerprint="1")]
    build_all(
        sources,
        tmp_path,
        samples_per_shard=2,
        threads=1,
        progress=lambda now: seen.append((now.name, now.done)),
    )
    assert {("a", 0), ("a", 3), ("b", 0), ("b", 3)} <= set(seen)
    assert [r.status for r in build_all(sources, tmp_path)] == ["reused", "reused"]
    changed = [Counting("a", fingerprint="2"), Counting("b", fingerprint="1")]
    stale, same = build_all(changed, tmp_path)
    assert (stale.status, type(stale.error), same.status) == ("failed", StaleCacheError, "reused")
    assert [r.status for r in build_all(changed, tmp_path, on_stale="rebuild")] == ["rebuilt", "reused"]


def test_sources_may_be_drawn_one_by_one(tmp_path):
    assert [r.num_samples for r in build_all((Counting(f"s{n}", n) for n in range(3)), tmp_path)] == [0, 1, 2]


def test_two_sources_of_one_name_are_not_built_over_each_other(tmp_path):
    first, second = build_all([Counting("a", 1), Counting("a", 2)], tmp_path, on_stale="rebuild")
    assert (first.status, second.status, type(second.error)) == ("built", "failed", SchemaError)
    assert len(reference.read(tmp_path / "a")) == 1


def test_what_is_there_already_is_an_outcome_like_any_other(tmp_path):
    build(Counting("a"), tmp_path)
    again, other = build_all([Counting("a"), Counting("b")], tmp_path)
    assert (again.status, type(again.error), other.status) == ("failed", CacheExistsError, "built")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_ends_everything(tmp_path, error):
    with pytest.raises(error):
        build_all([Counting("a"), Counting("b", error=error()), Counting("c")], tmp_path)
    assert names(tmp_path) == ["a"]


def test_an_argument_that_build_does_not_have_is_refused_at_once(tmp_path):
    with pytest.raises(TypeError, match="on_error"):
        build_all([Counting("a")], tmp_path, on_error="skip")
    assert names(tmp_path) == []
