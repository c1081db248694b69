"""What a system has stored is kept for all cases of a workload, and so is the reason why it has not."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import store
from benchmarks.peer import Cannot
from benchmarks.run import by_workload
from benchmarks.store import Store
from benchmarks.suites import SUITES
from benchmarks.workload import Workload
from tests.benchmarks.test_workload import DENSE


class Peer:
    """It writes a file a layout, and counts how often it is asked to."""

    def __init__(self, lacks: str = "") -> None:
        self.SWEEP = {"layout": [{"layout": "a"}, {"layout": "b"}]}
        self.lacks, self.asked = lacks, 0

    def write(self, workload: Workload, samples: Iterator[Any], folder: Path, layout: str) -> None:
        self.asked += 1
        if layout in self.lacks:
            raise Cannot(f"no {layout}")
        np.save(folder / "all.npy", np.stack(list(samples)))

    def open(self, workload: Workload, folder: Path) -> Path:
        return folder / "all.npy"


def opened(peer: Any, folder: Path) -> list[str | bool]:
    found: list[str | bool] = []
    for layout in peer.SWEEP["layout"]:
        try:
            found.append(Store(peer, DENSE, folder).open({"layout": layout}).exists())
        except Cannot as reason:
            found.append(str(reason))
    return found


def test_it_is_written_once_in_every_layout(tmp_path: Path) -> None:
    peer: Any = Peer()
    for _ in range(3):
        Store(peer, DENSE, tmp_path).write()
    assert peer.asked == 2
    assert opened(peer, tmp_path) == [True, True]


def test_a_layout_that_a_system_has_not_says_so_when_it_is_opened(tmp_path: Path) -> None:
    peer: Any = Peer(lacks="b")
    Store(peer, DENSE, tmp_path).write()
    assert opened(peer, tmp_path) == [True, "no b"]


def test_without_any_layout_there_is_no_store_however_often_it_is_asked_for(tmp_path: Path) -> None:
    peer: Any = Peer(lacks="ab")
    for _ in range(2):
        with pytest.raises(Cannot, match="no b"):
            Store(peer, DENSE, tmp_path).write()
    assert peer.asked == 2


@pytest.mark.parametrize("wrapped", [False, True])
def test_what_takes_too_long_is_given_up_and_says_what_it_would_take(
    wrapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(workload: Workload, samples: Iterator[Any], folder: Path) -> None:
        (folder / "part").touch()
        try:
            list(samples)
        except Cannot as error:
            raise (RuntimeError("its own") if wrapped else error) from None

    monkeypatch.setattr(store, "WRITING", 0.0)
    monkeypatch.setattr(store, "_SURE", 0.0)
    workload = replace(DENSE, samples=1000)
    peer: Any = SimpleNamespace(SWEEP={}, write=write)
    with pytest.raises(Cannot, match=r"would take \d+ s to write"):
        Store(peer, workload, tmp_path).write()
    assert not list(tmp_path.rglob("part"))


def test_a_store_that_was_not_finished_is_a_failure_for_all_that_follow(tmp_path: Path) -> None:
    def write(workload: Workload, samples: Iterator[Any], folder: Path) -> None:
        raise OSError("no room")

    peer: Any = SimpleNamespace(SWEEP={}, write=write)
    kept = Store(peer, DENSE, tmp_path)
    with pytest.raises(OSError, match="no room"):
        kept.write()
    with pytest.raises(Cannot, match="failed: its store was not finished"):
        kept.write()


SOME = replace(DENSE, batch=20)


class Reader:
    """Batches out of memory: right, or wrong in one way."""

    def __init__(self, wrong: str) -> None:
        self.SWEEP: dict[str, list[dict[str, Any]]] = {}
        self.wrong = wrong
        self.LENDS = wrong == "lent by a yardstick"
        self.samples = np.stack([SOME.sample(number) for number in range(SOME.samples)])
        self.buffer = np.empty((SOME.batch, *SOME.shape), SOME.dtype)

    def gather(self, _: None, numbers: np.ndarray) -> Any:
        found = self.samples[numbers[::-1] if self.wrong == "others" else numbers]
        if self.wrong == "a byte":
            found.view(np.uint8)[-1, -1] ^= 1
        if self.wrong == "short":
            found = found[:-1]
        if self.wrong == "a list":
            return list(found)
        if self.wrong.startswith("lent"):
            self.buffer[:] = found
            return self.buffer
        return found

    def loop(self) -> Iterator[np.ndarray]:
        rng = np.random.default_rng(0)
        for first in range(0, SOME.samples, SOME.batch):
            numbers = rng.integers(0, SOME.samples, SOME.batch)
            if self.wrong == "in order":
                numbers = np.arange(first, first + SOME.batch)
            if self.wrong == "few":
                numbers %= 3
            yield self.gather(None, numbers)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("", ""),
        ("lent by a yardstick", ""),
        ("lent", "overwritten by the next"),
        ("others", "other samples"),
        ("short", "other samples"),
        ("a byte", "is not that sample"),
        ("a list", "not in one piece"),
    ],
)
def test_a_gather_is_believed_only_if_every_byte_of_it_is_right(
    wrong: str, said: str, tmp_path: Path
) -> None:
    peer: Any = Reader(wrong)
    _expect(said, lambda: Store(peer, SOME, tmp_path).check_gather(None))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("", ""),
        ("lent by a yardstick", ""),
        ("lent", "overwritten by the next"),
        ("short", "another size"),
        ("a byte", "is not that sample"),
        ("a list", "not in one piece"),
        ("in order", "did not shuffle"),
        ("few", "did not shuffle"),
    ],
)
def test_a_loader_is_believed_only_if_it_shuffles_and_every_byte_is_right(
    wrong: str, said: str, tmp_path: Path
) -> None:
    peer: Any = Reader(wrong)
    _expect(said, lambda: Store(peer, SOME, tmp_path).check_loop(peer.loop()))


def _expect(said: str, check: Callable[[], None]) -> None:
    if not said:
        check()
        return
    with pytest.raises(ValueError, match=said):
        check()


def test_cases_of_a_workload_follow_each_other_and_cold_ones_are_the_last() -> None:
    groups = by_workload({name: list(suite.CASES) for name, suite in SUITES.items()})
    cases = [each for group in groups.values() for each in group]
    assert len(cases) == len(set(cases)) == sum(len(suite.CASES) for suite in SUITES.values())
    assert {suite for suite, _ in groups["photographs-3000"]} == {"read", "train", "transform", "workers"}
    for group in groups.values():
        assert all(suite == "cold" for suite, _ in group[-1:]) or "cold" not in dict(group)


@pytest.mark.parametrize(
    ("clock", "worked", "found"),
    [(10, 5, 5), (10, 10, 10), (10, 4, 5), (10, 0, 5), (10, 18, 10)],
)
def test_what_others_that_store_at_the_same_time_take_is_not_counted(
    clock: float, worked: float, found: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "at_once", lambda: 2)
    assert store.alone(clock, worked) == found
