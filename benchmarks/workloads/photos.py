"""Crops of photographs, 48 KiB each: what an image costs that is compressed without loss."""

from benchmarks.content import photographs
from benchmarks.workload import Workload

WORKLOAD = Workload(
    "photos",
    "crops of photographs, 128 x 128 x 3 uint8",
    "uint8",
    4_000,
    256,
    shape=(128, 128, 3),
    content=photographs,
    codec="zstd",
)
