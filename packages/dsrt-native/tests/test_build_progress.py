"""Progress of a build: begin, end, some calls between; rate and time left of this run alone."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from dsrt_format import Dense, Manifest
from dsrt_native import BuildProgress, build
from dsrt_native.progress import Meter


class Stream:
    """A source that does not know its end."""

    name = "stream"
    fields: ClassVar = {"x": Dense("int64")}
    metadata: ClassVar = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return ({"x": i} for i in range(2000))


class Sized(Stream):
    def __len__(self) -> int:
        return 2000


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""

    class Clock:
        now = 1000.0

    monkeypatch.setattr("time.monotonic", lambda: Clock.now)
    return Clock


@pytest.mark.parametrize(("source", "total"), [(Sized(), 2000), (Stream(), None)])
def test_progress_begins_and_ends_and_is_not_called_for_every_sample(tmp_path, source, total):
    seen: list[BuildProgress] = []
    build(source, tmp_path, progress=seen.append)
    assert seen[0] == BuildProgress("stream", 0, total, 0, None, None)
    assert (seen[-1].done, seen[-1].total, seen[-1].resumed_from) == (2000, total, 0)
    assert seen[-1].seconds_left == (None if total is None else 0.0)
    assert [now.done for now in seen] == sorted(now.done for now in seen)
    assert len(seen) < 1000


def test_it_is_called_ten_times_a_second(clock):
    seen: list[BuildProgress] = []
    meter = Meter(seen.append, "x", 1000, 0)
    for done in range(1, 101):
        clock.now += 1 / 64
        meter.count(done)
    # A hundred samples in 1.5625 s: the first report, and one for each seven sixty-fourths of a second.
    assert [now.done for now in seen] == [0, *range(7, 101, 7)]


def test_rate_and_time_left_are_those_of_this_run(clock):
    seen: list[BuildProgress] = []
    meter = Meter(seen.append, "x", 1000, 600)
    assert seen == [BuildProgress("x", 600, 1000, 600, None, None)]
    clock.now += 50  # workers start, or 600 samples are drawn and thrown away
    meter.count(601)
    assert (seen[-1].done, seen[-1].rate, seen[-1].seconds_left) == (601, None, None)
    for done in range(602, 701):
        clock.now += 0.5
        meter.count(done)
    assert (seen[-1].done, seen[-1].rate, seen[-1].seconds_left) == (700, 2.0, 150.0)


def test_at_the_end_no_time_is_left(clock):
    seen: list[BuildProgress] = []
    Meter(seen.append, "x", 600, 600).tell(600)
    assert [now.seconds_left for now in seen] == [0.0, 0.0]


def test_without_a_known_end_there_is_a_rate_and_no_time_left(clock):
    seen: list[BuildProgress] = []
    meter = Meter(seen.append, "x", None, 0)
    for done in range(1, 12):
        meter.count(done)
        clock.now += 0.25
    assert (seen[-1].total, seen[-1].rate, seen[-1].seconds_left) == (None, 4.0, None)


def test_progress_is_a_function(tmp_path):
    with pytest.raises(TypeError, match="progress=True: expected a function"):
        build(Stream(), tmp_path, progress=True)
    assert list(tmp_path.iterdir()) == []


def test_an_exception_of_the_last_report_says_that_the_cache_is_published(tmp_path):
    def report(now: BuildProgress) -> None:
        if (tmp_path / "stream").exists():
            raise LookupError("gone")

    with pytest.raises(LookupError, match="gone") as caught:
        build(Sized(), tmp_path, progress=report)
    assert caught.value.__notes__ == [
        f"{tmp_path / 'stream'} is published; only the last report of progress failed"
    ]
    assert Manifest.load(tmp_path / "stream").num_samples == 2000
