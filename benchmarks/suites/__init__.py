"""The suites, one a file. A new one: a file as `benchmarks.suite` describes it, and its name here."""

from benchmarks.suite import Suite
from benchmarks.suites import (
    build,
    cold,
    core,
    engine,
    first,
    interrupts,
    limits,
    memory,
    metadata,
    overhead,
    read,
    replies,
    sampler,
    samples,
    size,
    train,
    transform,
    verify,
    workers,
    write,
)

SUITES: dict[str, Suite] = {
    "read": read,
    "samples": samples,
    "first": first,
    "size": size,
    "write": write,
    "sampler": sampler,
    "train": train,
    "workers": workers,
    "transform": transform,
    "memory": memory,
    "metadata": metadata,
    "build": build,
    "replies": replies,
    "verify": verify,
    "limits": limits,
    "core": core,
    "engine": engine,
    "overhead": overhead,
    "interrupts": interrupts,
    "cold": cold,  # the last: it leaves stores that are no longer in memory
}
