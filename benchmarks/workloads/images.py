"""Decoded images of a fixed size. The bandwidth of memory shows here."""

from benchmarks.workload import Workload

WORKLOAD = Workload("images", "images, 150 KiB", "uint8", 3_000, 256, shape=(200, 256, 3))
