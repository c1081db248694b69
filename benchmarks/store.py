"""A workload as one system has stored it: once for each of the system's layouts."""

import shutil
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer import Cannot, Numbers, Peer, Transform, load
from benchmarks.suite import Job, Setting
from benchmarks.sweep import settings
from benchmarks.workload import Batch, Workload

_CHECKED = 4


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
        """The one in the folder of a job."""
        return cls(load(job.peer), workload, job.folder)

    def write(self) -> None:
        """Store the workload in every layout.

        Raises:
            Cannot: There is none that the system has for it.
        """
        reasons = []
        layouts = settings(self.peer, "layout")
        for setting in layouts:
            folder = self._place(setting)
            folder.mkdir()
            try:
                self.peer.write(self.workload, self.workload.all(), folder, **setting["layout"])
            except Cannot as reason:
                reasons.append(str(reason))
                shutil.rmtree(folder)
                folder.write_text(reasons[-1])
        if len(reasons) == len(layouts):
            raise Cannot(reasons[0])

    def _place(self, setting: Setting) -> Path:
        layouts = [each["layout"] for each in settings(self.peer, "layout")]
        return self.folder / f"layout-{layouts.index(setting.get('layout', layouts[0]))}"

    def open(self, setting: Setting) -> Any:
        """A handle of the peer.

        Raises:
            Cannot: The workload is not there in this layout.
        """
        place = self._place(setting)
        if place.is_file():  # the reason why
            raise Cannot(place.read_text())
        return self.peer.open(self.workload, place, **setting.get("open", {}))

    def loop(
        self, handle: Any, setting: Setting, seed: int = 0, transform: Transform | None = None
    ) -> Generator[Batch, None, None]:
        """The peer's own loader."""
        config = setting.get("loop", {})
        return self.peer.loop(handle, self.workload.batch, seed=seed, transform=transform, **config)

    def asked(self, batches: int = 64) -> list[Numbers]:
        """Numbers to gather: some uniform batches, the same for every system."""
        rng = np.random.default_rng(2)
        return list(rng.integers(0, self.workload.samples, (batches, self.workload.batch), np.int64))

    def check_gather(self, handle: Any) -> None:
        """Compare some batches with the truth.

        Raises:
            ValueError: They are not what was asked for, byte for byte.
        """
        for numbers in self.asked(_CHECKED):
            if self.workload.check(self.peer.gather(handle, numbers)) != numbers.tolist():
                raise ValueError(f"{self.workload.name}: gather gave other samples than asked for")

    def check_loop(self, loop: Iterator[Batch]) -> None:
        """Compare the next batches of a loader with the truth.

        Raises:
            ValueError: They are not whole batches of stored samples, byte for byte, or not shuffled.
        """
        numbers = [self.workload.check(batch) for batch in islice(loop, _CHECKED)]
        if {len(each) for each in numbers} != {self.workload.batch}:
            raise ValueError(f"{self.workload.name}: the loader gave batches of another size than asked for")
        drawn = [number for each in numbers for number in each]
        if drawn == sorted(drawn) or len(set(drawn)) < min(len(drawn), self.workload.samples) / 2:
            raise ValueError(f"{self.workload.name}: the loader did not shuffle")
