"""Samples as bytes, and a batch of them again."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import records
from benchmarks.workload import Packed
from benchmarks.workloads.records import SHORT
from benchmarks.workloads.tokens import PACKED


@pytest.mark.parametrize("size", [512, 1 << 20])
def test_a_batch_of_bytes_is_their_samples_in_memory_that_can_be_written(size: int) -> None:
    workload = replace(SHORT, dtype="uint8", shape=(size,))
    rng = np.random.default_rng(0)
    contents = [rng.bytes(size) for _ in range(6)]
    batch = records.joined(workload, contents)
    assert isinstance(batch, np.ndarray)
    assert [row.tobytes() for row in batch] == contents
    assert batch.flags.writeable


@pytest.mark.parametrize("times", [1, 1 << 20])
def test_a_packed_batch_of_bytes_has_the_ends_of_all_samples(times: int) -> None:
    contents = [memoryview(b"ab" * (each * times)) for each in (1, 0, 3)]
    batch = records.joined(PACKED, contents)
    assert isinstance(batch, Packed)
    assert batch.offsets.tolist() == [0, times, times, 4 * times]
    assert [sample.tobytes() for sample in batch] == contents
