"""The workloads. A new one: a file with a `Workload`, and its name here."""

from benchmarks.workload import Workload
from benchmarks.workloads import images, photos, records, sentences, tokens


def _by_name(*workloads: Workload) -> dict[str, Workload]:
    return {workload.name: workload for workload in workloads}


READ = _by_name(records.WORKLOAD, images.WORKLOAD, tokens.WORKLOAD)
WRITTEN = _by_name(
    records.WORKLOAD, images.WORKLOAD, sentences.RAW, sentences.ZSTD, sentences.ZSTD_DICT, photos.WORKLOAD
)
