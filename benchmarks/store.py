"""A workload as one system has stored it: once for each of the system's layouts, for all suites together."""

import os
import shutil
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer import Array, Cannot, Numbers, Peer, Transform, load
from benchmarks.suite import Job, Setting
from benchmarks.sweep import settings
from benchmarks.workload import Batch, Workload

WRITING, ANOTHER = 400.0, 30.0
"""Seconds to write a layout, and each that follows: what would take longer is given up, and says so."""

_SURE = 5.0  # seconds of writing, after which it can be said
_CHECKED, _AT_ONCE, _BLOCK = 4, 256, 64
_CHECKING = 2.0  # seconds, after which a slow system is asked for no further batch
_UNFINISHED = "failed: its store was not finished"


def sized(cases: Mapping[str, Workload], case: str, smoke: bool) -> Workload:
    """The workload of a case; a smoke run has little of it."""
    return cases[case].shrunk() if smoke else cases[case]


@dataclass(frozen=True)
class Store:
    """What the suites do with it. A `setting` without a layout means the first one."""

    peer: Peer
    workload: Workload
    folder: Path

    @classmethod
    def of(cls, job: Job, workload: Workload) -> "Store":
        """The one of a job's system."""
        return cls(load(job.peer), workload, job.stores / workload.stored)

    def write(self) -> None:
        """Store the workload in every layout, unless that was done for another case.

        Raises:
            Cannot: There is none that the system has for it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        reasons: list[str] = []
        for layout in settings(self.peer, "layout"):
            reasons.append(self._stored(layout, WRITING if all(reasons) else ANOTHER))
        if all(reasons):
            raise Cannot(reasons[-1])

    def _stored(self, setting: Setting, seconds: float) -> str:
        """Store it in one layout within so many seconds; the reason why not, or nothing."""
        place = self.place(setting)
        said = _said(place)
        if not said.exists():
            said.write_text(_UNFINISHED)
            place.mkdir()
            reasons: list[str] = []
            samples = self._samples(place, seconds, reasons)
            try:
                self.peer.write(self.workload, samples, place, **setting["layout"])
            except Exception as error:  # a system may have made its own of ours
                if not reasons and not isinstance(error, Cannot):
                    raise
                reasons.append(str(error))
            if reasons:
                shutil.rmtree(place)
            said.write_text("".join(reasons[:1]))
        return said.read_text()

    def _samples(self, place: Path, seconds: float, reasons: list[str]) -> Iterator[Array]:
        """All of them, but where they would take longer than so many seconds: that is a reason."""
        began, worked = time.monotonic(), _worked()
        for number, sample in enumerate(self.workload.all()):
            if number and not number % _AT_ONCE and time.monotonic() - began > _SURE:
                passed = alone(time.monotonic() - began, _worked() - worked)
                part = number / self.workload.samples
                if passed / part > seconds:
                    size = sum(file.stat().st_size for file in place.rglob("*")) / part
                    much = f" and {size / 1e9:.1f} GB" if size > self.workload.bytes else ""
                    reasons.append(f"would take {passed / part:,.0f} s{much} to write")
                    raise Cannot(reasons[0])
            yield sample

    def place(self, setting: Setting) -> Path:
        """The folder of its layout."""
        layouts = [each["layout"] for each in settings(self.peer, "layout")]
        return self.folder / f"layout-{layouts.index(setting.get('layout', layouts[0]))}"

    def there(self) -> set[Path]:
        """The folders of the layouts that are there."""
        places = map(self.place, settings(self.peer, "layout"))
        return {place for place in places if _said(place).exists() and not _said(place).read_text()}

    def ways(self) -> list[Setting]:
        """Each layout that is there, with each way to open it."""
        every, there = settings(self.peer, "layout", "open"), self.there()
        return [setting for setting in every if self.place(setting) in there]

    def open(self, setting: Setting) -> Any:
        """A handle of the peer.

        Raises:
            Cannot: The workload is not there in this layout.
        """
        place = self.place(setting)
        if reason := _said(place).read_text():
            raise Cannot(reason)
        return self.peer.open(self.workload, place, **setting.get("open", {}), **setting.get("cold", {}))

    def loop(
        self, handle: Any, setting: Setting, transform: Transform | None = None
    ) -> Generator[Batch, None, None]:
        """The peer's own loader."""
        config = setting.get("loop", {})
        return self.peer.loop(handle, self.workload.batch, seed=0, transform=transform, **config)

    def asked(self, seed: int = 2) -> Iterator[list[Numbers]]:
        """Numbers to gather, in blocks of random batches, without end; every system the same."""
        return uniform(self.workload, seed)

    def check_gather(self, handle: Any) -> None:
        """Compare some batches with the truth, each before and after the next one.

        Raises:
            ValueError: They are not what was asked for, byte for byte and in its form, or do not stay it.
        """
        end = time.monotonic() + _CHECKING
        asked = next(self.asked(seed=1))[:_CHECKED]
        for numbers, delivered in self._kept((each, self.peer.gather(handle, each)) for each in asked):
            if delivered != numbers.tolist():
                raise ValueError(f"{self.workload.name}: gather gave other samples than asked for")
            if time.monotonic() > end:
                return

    def check_loop(self, loop: Iterator[Batch], form: str = "") -> None:
        """Compare the next batches of a loader with the truth, each before and after the next one.

        Without a `form` they are to be in that of the workload.

        Raises:
            ValueError: They are not whole batches of stored samples, byte for byte and in the form, do not
                stay that, or are not shuffled.
        """
        batches = ((None, batch) for batch in islice(loop, _CHECKED))
        numbers = [delivered for _, delivered in self._kept(batches, form)]
        if {len(each) for each in numbers} != {self.workload.batch}:
            raise ValueError(f"{self.workload.name}: the loader gave batches of another size than asked for")
        drawn = [number for each in numbers for number in each]
        if drawn == sorted(drawn) or len(set(drawn)) < min(len(drawn), self.workload.samples) / 2:
            raise ValueError(f"{self.workload.name}: the loader did not shuffle")

    def _kept(self, batches: Iterable[tuple[Any, Batch]], form: str = "") -> Iterator[tuple[Any, list[int]]]:
        """The numbers of the samples of each batch, which is one that stays after the next was asked for."""
        listed, lent = (form or self.workload.form) == "list", getattr(self.peer, "LENDS", False)
        before: tuple[Batch, list[int]] | None = None
        for asked, batch in batches:
            if isinstance(batch, list) != listed:
                raise ValueError(
                    f"{self.workload.name}: a batch is not {'a list' if listed else 'in one piece'}"
                )
            if before and not lent and list(self.workload.check(before[0])) != before[1]:
                raise ValueError(f"{self.workload.name}: a batch was overwritten by the next one")
            before = batch, list(self.workload.check(batch))
            yield asked, before[1]


def at_once() -> int:
    """How many systems store at a time: nothing is timed then."""
    return len(os.sched_getaffinity(0))


def alone(clock: float, worked: float) -> float:
    """Seconds without the others that store at the same time: those of the CPU, within what is possible."""
    return min(max(worked, clock / at_once()), clock)


def _worked() -> float:
    return sum(os.times()[:4])  # of this process, and of its children that have ended


def uniform(workload: Workload, seed: int) -> Iterator[list[Numbers]]:
    """Blocks of batches of random numbers of samples, each drawn anew."""
    rng = np.random.default_rng(seed)
    while True:
        yield list(rng.integers(0, workload.samples, (_BLOCK, workload.batch), np.int64))


def workload_of(case: object) -> Workload | None:
    """What a case of a suite is about, if it is about data."""
    workload = getattr(case, "workload", case)
    return workload if isinstance(workload, Workload) else None


def _said(place: Path) -> Path:
    # Beside the folder, in which there is nothing but what the system has written.
    return place.with_suffix(".said")
