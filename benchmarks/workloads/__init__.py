"""The workloads. A new one: a file with a `Workload`, and its name here."""

from benchmarks.workload import Workload
from benchmarks.workloads import images, photographs, records, tokens

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        photographs.FIXED,
        photographs.NATIVE,
        tokens.BLOCKS,
        tokens.PACKED,
        tokens.LIST,
        images.IMAGES,
        records.RECORDS,
        records.SHORT,
        records.TINY,
        tokens.ZSTD,
        tokens.ZSTD_DICT,
        photographs.ZSTD,
    )
}


def _named(*names: str) -> dict[str, Workload]:
    return {name: WORKLOADS[name] for name in names}


READ = _named(*(name for name in WORKLOADS if name != "tiny"))
KINDS = _named("images", "records", "tokens", "tokens-zstd", "tokens-zstd-dict", "photographs-zstd")
"""One of each kind: long and short, of one length and of many, and of each codec."""
