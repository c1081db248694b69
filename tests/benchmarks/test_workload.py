"""A benchmark believes no delivery: whatever differs from the truth in a bit is found."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from benchmarks import stamp
from benchmarks.content import Content, Crops, Slices
from benchmarks.peer import Cannot, Peer, check, check_stream
from benchmarks.peers import memmap
from benchmarks.workload import Packed, Workload, elements
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.photographs import FIXED, NATIVE
from benchmarks.workloads.records import SHORT
from benchmarks.workloads.tokens import LIST, PACKED


def _pool() -> Content:
    return Slices(np.random.default_rng(0).integers(0, 256, 100_000, np.uint8), 2)


def _pictures() -> Content:
    rng = np.random.default_rng(0)
    return Crops([rng.integers(0, 256, (300 + i, 451, 3), np.uint8) for i in range(3)])


DENSE = replace(SHORT, samples=100, content=_pool)
TOKENS = replace(PACKED, samples=100, content=_pool)
ARRAYS = replace(LIST, samples=100, content=_pool)
PICTURES = replace(FIXED, samples=20, content=_pictures)
SIZES = replace(NATIVE, samples=20, content=_pictures)
ALL = [DENSE, TOKENS, ARRAYS, PICTURES, SIZES]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "int64"])
@pytest.mark.parametrize("number", [0, 1, 255, 2**14, 2**31, 2**56 - 1])
def test_a_number_comes_back_out_of_what_a_sample_begins_with(dtype: str, number: int) -> None:
    head = stamp.stamp(np.array([number]), np.dtype(dtype))[0]
    assert len(head) == stamp.BYTES
    assert stamp.number(head.view(dtype)) == number


def test_the_number_of_a_text_is_made_of_tokens_that_every_vocabulary_has() -> None:
    head = stamp.stamp(np.array([2**56 - 1, 12_345_678]), np.dtype(np.uint16))
    assert head.view(np.uint16).max() < 2**14


@pytest.mark.parametrize("workload", ALL, ids=lambda each: each.name)
def test_batches_hold_what_the_samples_hold(workload: Workload) -> None:
    found = [sample for batch in workload.batches(workload.bytes // 3) for sample in batch]
    assert [each.tobytes() for each in found] == [each.tobytes() for each in workload.all()]
    assert [each.tobytes() for each in found] == [workload.sample(i).tobytes() for i in range(len(found))]
    assert [each.shape for each in found] == [tuple(shape) for shape in workload.shapes.tolist()]
    assert workload.check(found) == list(range(workload.samples))


@pytest.mark.parametrize("workload", ALL, ids=lambda each: each.name)
def test_a_single_bit_is_enough_to_be_found(workload: Workload) -> None:
    rng = np.random.default_rng(1)
    for number in rng.integers(0, workload.samples, 20).tolist():
        sample = workload.sample(number).copy()
        place = int(rng.integers(0, sample.nbytes))
        sample.reshape(-1).view(np.uint8)[place] ^= 1 << int(rng.integers(0, 8))
        with pytest.raises(ValueError, match="not that sample"):
            workload.check([sample])


def test_other_types_and_shapes_of_the_same_bytes_are_found() -> None:
    sample, picture = DENSE.sample(3), SIZES.sample(3)
    for other in (sample.view(np.int32), sample.reshape(2, -1), sample[:-1], sample[:1]):
        with pytest.raises(ValueError, match="not that sample"):
            DENSE.check([other])
    turned = Packed(picture.reshape(-1), np.array([0, picture.size]), np.array([picture.shape[::-1]]))
    with pytest.raises(ValueError, match="not that sample"):
        SIZES.check(turned)


def test_a_sample_that_is_not_there_is_found() -> None:
    with pytest.raises(ValueError, match="not that sample"):
        replace(DENSE, samples=50).check([DENSE.sample(70)])


def test_what_is_made_once_a_process_does_not_travel_to_another() -> None:
    workload = replace(TOKENS, codec="zstd-dict")
    assert len(workload.dictionary) > 0
    assert workload.sample(0).size > 0
    assert len(pickle.dumps(workload)) < 2_000
    assert pickle.loads(pickle.dumps(workload)) == workload


def test_no_store_of_a_workload_is_larger_than_a_run_in_minutes_can_have() -> None:
    assert max(workload.bytes for workload in WORKLOADS.values()) < 1.5e9


@pytest.mark.parametrize("workload", [DENSE, TOKENS, PICTURES, SIZES], ids=lambda each: each.name)
def test_a_store_with_a_wrong_bit_is_found(workload: Workload, tmp_path: Path) -> None:
    memmap.write(workload, workload.all(), tmp_path)
    check(cast(Peer, memmap), workload, tmp_path, elements(workload.batches(100)))
    content = bytearray((tmp_path / "values").read_bytes())
    content[-1] ^= 1
    (tmp_path / "values").write_bytes(content)
    with pytest.raises(ValueError, match="not those that were written"):
        check(cast(Peer, memmap), workload, tmp_path, elements(workload.batches(100)))


@pytest.mark.parametrize("workload", [DENSE, TOKENS], ids=lambda each: each.name)
def test_what_is_only_streamed_is_compared_to_the_last_bit(
    workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gather(*_: Any) -> None:
        raise Cannot("streams only")

    monkeypatch.setattr(memmap, "gather", gather)
    memmap.write(workload, workload.all(), tmp_path)
    check(cast(Peer, memmap), workload, tmp_path, elements(workload.batches(100)))
    fewer = replace(workload, samples=workload.samples - 1)
    with pytest.raises(ValueError, match=r"not those that were written|not that sample"):
        check_stream(cast(Peer, memmap), workload, memmap.open(fewer, tmp_path))
    content = bytearray((tmp_path / "values").read_bytes())
    content[-1] ^= 1
    (tmp_path / "values").write_bytes(content)
    with pytest.raises(ValueError, match="not that sample"):
        check(cast(Peer, memmap), workload, tmp_path, elements(workload.batches(100)))
