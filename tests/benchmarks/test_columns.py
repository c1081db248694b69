"""Batches that are written whole are read as the samples that they were."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks import records
from benchmarks.peer import Cannot, Peer, check
from benchmarks.peers import arrow_ipc, parquet
from benchmarks.workload import Packed, Workload, elements
from tests.benchmarks.test_workload import DENSE, PICTURES, SIZES, TOKENS

WORKLOADS = pytest.mark.parametrize("workload", [DENSE, TOKENS, PICTURES, SIZES], ids=lambda each: each.name)


@WORKLOADS
@pytest.mark.parametrize(
    ("peer", "config"), [(arrow_ipc, {}), (parquet, {"kib": 1}), (parquet, {"kib": 128})]
)
def test_what_is_written_by_batches_is_what_is_read(
    workload: Workload, peer: Any, config: dict[str, int], tmp_path: Path
) -> None:
    # No multiple of the rows of a row group.
    peer.write_batches(workload, workload.batches(workload.bytes // 3), tmp_path, **config)
    check(cast(Peer, peer), workload, tmp_path, elements(workload.batches(workload.bytes)))


@WORKLOADS
def test_samples_one_by_one_become_the_batches_that_they_are(workload: Workload) -> None:
    found = list(records.chunks(workload, workload.all(), 7))
    assert [len(list(batch)) for batch in found][:2] == [7, 7]
    assert workload.check([sample for batch in found for sample in batch]) == list(range(workload.samples))
    kept = [batch.shapes is not None for batch in found if isinstance(batch, Packed)]
    assert set(kept) == ({workload.ndim > 1} if workload.ragged else set())


def test_a_record_batch_that_would_be_decompressed_whole_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(Cannot, match="decompressed whole"):
        arrow_ipc.write_batches(replace(TOKENS, codec="zstd"), TOKENS.batches(1 << 20), tmp_path)
