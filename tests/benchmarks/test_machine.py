"""The machine's limits are of work that was done: what C copies and libzstd decodes is what was stored."""

from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest

from benchmarks import compiled, limits
from benchmarks.peer import Cannot
from benchmarks.peers import machine
from benchmarks.workload import Workload
from tests.benchmarks.test_workload import ALL, ARRAYS, DENSE, TOKENS

ZSTD = [replace(each, codec=codec) for each in (TOKENS, ARRAYS) for codec in ("zstd", "zstd-dict")]


def _ways(workload: Workload) -> list[str]:
    return list(machine.COPIES) if workload.codec == "raw" else _libzstd()


def _libzstd() -> list[str]:
    found = []
    for which in limits.LIBZSTD:
        with suppress(limits.NoLimits):
            limits.libzstd(which)
            found.append(which)
    return found


def test_some_libzstd_is_there_and_tells_its_version() -> None:
    assert _libzstd()
    assert all(limits.version(which).startswith("1.") for which in _libzstd())


def test_a_libzstd_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = replace(TOKENS, codec="zstd")
    machine.write(workload, workload.all(), tmp_path)
    monkeypatch.setattr(limits, "_brought", list)
    limits.libzstd.cache_clear()
    try:
        with pytest.raises(Cannot, match="no libzstd of python-zstandard"):
            machine.open(workload, tmp_path, way=limits.BROUGHT)
    finally:
        limits.libzstd.cache_clear()


@pytest.mark.parametrize("workload", ALL + ZSTD, ids=lambda each: f"{each.name}-{each.codec}")
def test_what_it_gathers_is_what_was_stored(workload: Workload, tmp_path: Path) -> None:
    machine.write(workload, workload.all(), tmp_path)
    workload = replace(workload, batch=8)
    for way in _ways(workload):
        handle = machine.open(workload, tmp_path, way=way)
        for seed in range(20):
            numbers = np.random.default_rng(seed).integers(0, workload.samples, 1 + seed % 8)
            assert workload.check(machine.gather(handle, numbers)) == numbers.tolist()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("workload", ALL + ZSTD, ids=lambda each: f"{each.name}-{each.codec}")
def test_its_loop_has_every_sample_at_most_once_in_a_pass(
    workload: Workload, threads: int, tmp_path: Path
) -> None:
    machine.write(workload, workload.all(), tmp_path)
    for way in _ways(workload):
        loop = machine.loop(machine.open(workload, tmp_path, way=way), 5, seed=1, threads=threads)
        for _ in range(3):
            batches = [list(workload.check(batch)) for batch in islice(loop, workload.samples // 5)]
            assert {len(batch) for batch in batches} == {5}
            assert sorted(chain(*batches)) == list(range(workload.samples))


@pytest.mark.parametrize("workload", ALL + ZSTD, ids=lambda each: f"{each.name}-{each.codec}")
def test_its_samples_are_all_pass_after_pass_as_stored_or_in_an_order_of_its_own(
    workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "AT_ONCE", 1)
    machine.write(workload, workload.all(), tmp_path)
    workload = replace(workload, batch=7)  # some passes end with fewer
    for way in _ways(workload):
        handle = machine.open(workload, tmp_path, way=way)
        for shuffled in (False, True):
            samples = machine.samples(handle, seed=1, shuffled=shuffled)
            passes = []
            for _ in range(2):
                # Each before the next is asked for: they are lent.
                passes.append(
                    [number for _ in range(workload.samples) for number in workload.check([next(samples)])]
                )
            assert all(sorted(each) == list(range(workload.samples)) for each in passes)
            assert (passes[0] == sorted(passes[0])) != shuffled
            assert (passes[0] == passes[1]) != shuffled


@pytest.mark.parametrize("workload", ALL + ZSTD, ids=lambda each: f"{each.name}-{each.codec}")
def test_written_in_batches_the_files_are_the_same(workload: Workload, tmp_path: Path) -> None:
    single, together = tmp_path / "single", tmp_path / "together"
    for folder in (single, together):
        folder.mkdir()
    machine.write(workload, workload.all(), single)
    machine.write_batches(workload, workload.batches(1 << 12), together)
    assert {file.name: file.read_bytes() for file in single.iterdir()} == {
        file.name: file.read_bytes() for file in together.iterdir()
    }


def test_advice_to_the_kernel_changes_nothing_that_is_read(tmp_path: Path) -> None:
    machine.write(DENSE, DENSE.all(), tmp_path)
    for config in machine.SWEEP["cold"]:
        handle = machine.open(DENSE, tmp_path, **config)
        assert DENSE.check(machine.gather(handle, np.array([7, 3]))) == [7, 3]


def test_a_frame_that_is_none_is_an_error(tmp_path: Path) -> None:
    workload = replace(TOKENS, codec="zstd")
    machine.write(workload, workload.all(), tmp_path)
    records = bytearray((tmp_path / "records").read_bytes())
    records[:4] = b"none"
    (tmp_path / "records").write_bytes(records)
    with pytest.raises(ValueError, match="no zstd frame"):
        machine.open(workload, tmp_path, way=_libzstd()[0])


def test_without_a_compiler_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled.shutil, "which", lambda _: None)
    limits._library.cache_clear()
    machine.write(DENSE, DENSE.all(), tmp_path)
    with pytest.raises(Cannot, match="no C compiler"):
        machine.open(DENSE, tmp_path)
