"""Single samples, one after another, pass after pass."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.peers import memmap
from benchmarks.workload import Workload
from tests.benchmarks.test_workload import DENSE, TOKENS


@pytest.mark.parametrize("workload", [DENSE, TOKENS], ids=lambda each: each.name)
def test_each_pass_has_every_sample_once_as_stored_or_in_an_order_of_its_own(
    workload: Workload, tmp_path: Path
) -> None:
    few = replace(workload, samples=20)
    memmap.write(few, few.all(), tmp_path)
    handle = memmap.open(few, tmp_path)
    stored = few.check(list(islice(memmap.samples(handle, seed=0, shuffled=False), 40)))
    assert stored == [*range(20), *range(20)]
    shuffled = list(few.check(list(islice(memmap.samples(handle, seed=0, shuffled=True), 40))))
    assert sorted(shuffled[:20]) == sorted(shuffled[20:]) == list(range(20))
    assert shuffled[:20] != shuffled[20:]
