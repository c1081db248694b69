"""Decoded images of a fixed size, incompressible. The bandwidth of memory shows here."""

from benchmarks.workload import Workload

IMAGES = Workload("images", "images, 150 KiB", "uint8", 3_000, 256, shape=(200, 256, 3))
