"""Small records of a fixed size: embeddings, tabular rows. The cost of a lookup shows here."""

from benchmarks.workload import Workload

WORKLOAD = Workload("records", "dense records, 2 KiB", "float32", 200_000, 256, shape=(512,))
