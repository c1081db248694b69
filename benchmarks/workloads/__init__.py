"""The workloads, one a file. A new one: a file with a `WORKLOAD`, and its name here."""

from benchmarks.workload import Workload
from benchmarks.workloads import images, records, tokens

WORKLOADS: dict[str, Workload] = {
    module.WORKLOAD.name: module.WORKLOAD for module in (records, images, tokens)
}
