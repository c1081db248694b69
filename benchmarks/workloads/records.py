"""Small records, incompressible: embeddings, rows of tables. The cost of a lookup shows here."""

from benchmarks.workload import Workload

RECORDS = Workload("records", "dense records, 2 KiB", "float32", 200_000, 256, shape=(512,))
SHORT = Workload("records-512", "dense records, 512 B", "float32", 400_000, 256, shape=(128,))
TINY = Workload("tiny", "tiny records, 64 B", "uint8", 1_000_000, 256, shape=(64,))
