"""The long form: ``python -m tests.survival`` (or ``nox -s survival``) prints the counts of everything."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.survival.expected import Expected
from tests.survival.full_disks import FullDisks
from tests.survival.interrupts import Interrupter
from tests.survival.kills import Killer
from tests.survival.merges import Merger
from tests.survival.nursery import Nursery
from tests.survival.races import Races
from tests.survival.small_disk import why_not


class Run:
    """The experiments, each of which prints its counts."""

    def __init__(self, nursery: Nursery, place: Path, seed: int, scale: float) -> None:
        (place / "expected").mkdir()
        self._nursery, self._place, self._seed, self._scale = nursery, place, seed, scale
        self._expected = Expected(nursery, place / "expected")

    def _times(self, count: int) -> range:
        return range(max(1, round(count * self._scale)))

    def kills(self) -> list[str]:
        killer = Killer(self._nursery, self._expected, self._place, self._seed)
        while killer.counts.kills < len(self._times(1000)):
            killer.build()
        return killer.counts.lines()

    def disks(self) -> list[str]:
        disks = FullDisks(self._nursery, self._expected, self._place)
        for recipe in ("raw", "texts", "tokens"):
            for limit in disks.limits(recipe):
                disks.limited(recipe, limit)
                disks.limited(recipe, limit, old=True)
            disks.rising(recipe)
        lines = disks.counts.lines("RLIMIT_FSIZE")
        if (reason := why_not()) is not None:
            return [*lines, f"full disk (tmpfs): none can be mounted here: {reason}"]
        for kind, words in (("size", "tmpfs, bytes"), ("nr_inodes", "tmpfs, files")):
            disks = FullDisks(self._nursery, self._expected, self._place)
            for recipe in ("raw", "tokens"):
                number, most = 1, 0
                while most < 3:
                    failed = disks.counts.failed
                    disks.small(recipe, f"{kind}={number}")
                    disks.small(recipe, f"{kind}={number}", old=True)
                    most += disks.counts.failed == failed
                    number += 1
            lines += disks.counts.lines(words)
        return lines

    def interrupts(self) -> list[str]:
        interrupter = Interrupter(self._nursery, self._expected, self._place, self._seed)
        for number in self._times(300):
            interrupter.build(workers=number % 5 == 0, at_the_end=number % 6 == 0)
        return interrupter.counts.lines()

    def races(self) -> list[str]:
        races = Races(self._nursery, self._expected, self._place, self._seed)
        for _ in self._times(200):
            races.round()
        for _ in self._times(50):
            races.takeover()
        return races.counts.lines()

    def merges(self) -> list[str]:
        merger = Merger(self._nursery, self._expected, self._place, self._seed)
        for _ in self._times(100):
            merger.merge()
        return merger.counts.lines()


def main() -> int:
    """Run what is asked for; the status is 1 where a fact did not hold."""
    experiments: dict[str, Callable[[Run], list[str]]] = {
        "kills": Run.kills,
        "disks": Run.disks,
        "interrupts": Run.interrupts,
        "races": Run.races,
        "merges": Run.merges,
    }
    parser = argparse.ArgumentParser(prog="python -m tests.survival", description=__doc__)
    parser.add_argument("only", nargs="*", choices=[*experiments, []], metavar="|".join(experiments))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="of the counts: 1 is a thousand kills")
    parser.add_argument("--directory", type=Path, help="where to build; a temporary directory if not given")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=arguments.directory, prefix="survival-") as place,
        Nursery() as nursery,
    ):
        run = Run(nursery, Path(place), arguments.seed, arguments.scale)
        for name in arguments.only or experiments:
            began = time.monotonic()
            print("\n".join(experiments[name](run)))
            print(f"  ({time.monotonic() - began:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
