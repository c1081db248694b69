"""What is to be reached, each with the figure that says whether it is."""

from collections.abc import Iterator, Mapping
from statistics import median

from benchmarks import table
from benchmarks.answers import (
    Answer,
    Asked,
    Target,
    Value,
    figure,
    growth,
    ours_by_theirs,
    own,
    part,
    rounds,
    theirs_by_ours,
)
from benchmarks.peers import FIRST
from benchmarks.record import Record
from benchmarks.suites import engine, interrupts, overhead
from benchmarks.workloads import WORKLOADS

_ZSTD = ("tokens-zstd", "tokens-zstd-dict", "photographs-zstd")
_RAW = ("records", "images", "tokens")
_READ = (*_RAW, "tokens-list", *_ZSTD)
_SIZES = ("1e6", "1e8")
_PAGE = 2**-8  # MiB
_PREFETCHED = 5  # batches: those that DSRT has ahead by default, four, and the consumer's

# What, at least, and beside which systems; where it is measured: suite, cases, work.
_RATES: tuple[tuple[str, float, tuple[str, ...], str, tuple[str, ...], str], ...] = (
    ("dense gather, 150 KiB raw", 3.5, ("loaderx",), "read", ("images",), "gather"),
    ("dense gather, 150 KiB raw", 1.5, ("memmap",), "read", ("images",), "gather"),
    ("dense gather on one core, 150 KiB raw", 0.85, ("machine",), "core", ("images",), "gather"),
    ("dense gather, 2 KiB raw", 5, ("loaderx",), "read", ("records",), "gather"),
    ("dense gather, 2 KiB raw", 1.1, ("memmap",), "read", ("records",), "gather"),
    ("ragged tokens, packed", 5, ("loaderx",), "read", ("tokens",), "gather"),
    ("ragged tokens, list", 2, ("loaderx",), "read", ("tokens-list",), "gather"),
    ("ragged tokens, packed", 1, ("lmdb", "grain"), "read", ("tokens",), "gather"),
    ("ragged tokens, list", 1, ("lmdb", "grain"), "read", ("tokens-list",), "gather"),
    ("tokens, zstd", 1.7, ("loaderx",), "read", ("tokens-zstd",), "gather"),
    ("tokens, zstd with a dictionary", 2.3, ("loaderx",), "read", ("tokens-zstd-dict",), "gather"),
    ("photographs, zstd", 1.9, ("loaderx",), "read", ("photographs-zstd",), "gather"),
    ("zstd on one core", 0.95, ("machine",), "core", _ZSTD, "gather"),
    ("loader, Python loop", 1, ("loaderx", "torch", "grain", "dataset_rt"), "read", _READ, "loop"),
    ("iteration by samples, its own way", 10, ("dataset_rt",), "samples", _RAW, "own"),
    ("iteration by samples, its faster way", 10, ("dataset_rt",), "samples", _RAW, "samples"),
    ("iteration as stored", 10, ("dataset_rt",), "samples", _RAW, "in order"),
    ("draws, uniform", 1, ("loaderx",), "sampler", _SIZES, "uniform"),
    ("draws, permuted, 1e6", 1.5, ("loaderx",), "sampler", ("1e6",), "permuted"),
    ("draws, permuted, 1e8", 5, ("loaderx",), "sampler", ("1e8",), "permuted"),
    ("draws, weighted, a call a batch", 100, ("torch",), "sampler", _SIZES, "weighted, a call a batch"),
)

# Of times; otherwise the same.
_TIMES: tuple[tuple[str, float, tuple[str, ...], str, tuple[str, ...], str], ...] = (
    ("write raw, samples one by one", 1, ("loaderx",), "write", _RAW, "samples memory"),
    ("write raw, batches", 1, ("loaderx",), "write", _RAW, "batches memory"),
    ("write zstd, samples one by one", 1.5, ("loaderx",), "write", _ZSTD, "samples memory"),
    ("write zstd, batches", 1.5, ("loaderx",), "write", _ZSTD, "batches memory"),
)


def _beyond_slots(case: str) -> Value:
    workload = WORKLOADS[case]
    slots = _PREFETCHED * workload.bytes / workload.samples * workload.batch / 2**20
    added = _added(case, FIRST)
    return lambda asked: added(asked) - slots


def _checksums(case: str) -> Value:
    def value(asked: Asked) -> float:
        rates = (rounds(asked, "engine", case, work) for work in ("verified", "unverified"))
        parts = engine.checksums(*rates)
        asked.uncertain |= bool(engine.mark(parts))
        return median(parts)

    return value


def _added(case: str, peer: str) -> Value:
    return lambda asked: (
        figure(asked, "read", case, "loop steady", peer) - figure(asked, "read", case, "loop before", peer)
    )


def _added_beside_torch(case: str) -> Value:
    ours, others = _added(case, FIRST), _added(case, "torch")
    return lambda asked: ours(asked) / max(others(asked), _PAGE)


def _cold(work: str) -> Mapping[str, Value]:
    return {case: own("cold", case, work) for case in ("records", "images")}


_MEMORY = {case: ours_by_theirs("read", case, "loop steady", "torch") for case in _READ}
_ADDED = {case: _added_beside_torch(case) for case in _READ}
_OPENED = {"1e7": ours_by_theirs("size", "1e7-samples", "open", "dataset_rt")}
_CHECKED = {case: _checksums(case) for case in ("images", *_ZSTD)}
_FIRST = ("images", "records", "tokens")
_COST = {work: growth("size", work, "1e4-samples", "1e7-samples") for work in ("gather", "loop")}
_ALLOCATIONS = {case: own("overhead", case, "allocations") for case in overhead.CASES}

_INTERRUPTED = {work: own("interrupts", "images", f"{work}, longest", scale=1e3) for work in interrupts.WAITS}

# What, at most, of which unit, and its figures.
_MOST: tuple[tuple[str, float, str, Mapping[str, Value]], ...] = (
    ("own memory of a process with its loader and imports, beside torch's", 0.5, "x", _MEMORY),
    ("own memory that the loader adds, beside torch's", 0.5, "x", _ADDED),
    ("loader's memory beyond its slots", 60, "MiB", {case: _beyond_slots(case) for case in _READ}),
    ("open 10 million samples, beside dataset-rt", 1, "x", _OPENED),
    (
        "open, 10 million samples by 10,000",
        1.5,
        "x",
        {"": growth("size", "open", "1e7-samples", "1e4-samples")},
    ),
    ("cost of a sample, of 10 million by of 10,000", 1.5, "x", _COST),
    ("checksums of images and compressed records, part of the time of a gather", 10, "%", _CHECKED),
    ("Python's part of a batch of 1", 15, "us", {"": own("overhead", "batch-1", "batch", scale=1e6)}),
    ("state_dict", 20, "us", {"": own("overhead", "batch-1", "state_dict", scale=1e6)}),
    ("allocations and maps of 4 KiB or more in steady state", 0, "a batch", _ALLOCATIONS),
    ("a Ctrl-C is answered, the longest time of a turn", 50, "ms", _INTERRUPTED),
    ("permuted, 1e9 rows, seek by step", 1.1, "x", {"": part("overhead", "batch-1", "seek", "step")}),
    (
        "first batch of a fresh loader",
        20,
        "batches",
        {case: part("first", case, "first", "batch") for case in _FIRST},
    ),
    (
        "first batch of the next loader",
        3,
        "batches",
        {case: part("first", case, "second", "batch") for case in _FIRST},
    ),
    ("weighted, 1e8 rows, prepared", 3, "s", {"": own("sampler", "1e8", "weighted, first")}),
    (
        "weighted, draws of 1e6 rows by those of 1e8",
        4,
        "x",
        {"": growth("sampler", "weighted", "1e6", "1e8")},
    ),
    ("cold random reads, bytes read by those asked for, in whole pages", 1.1, "x", _cold("touched")),
    ("cold random reads, bytes read by those of the pages that hold them", 1.1, "x", _cold("pages")),
)

_THREADS = {case: part("engine", case, engine.LOADER, engine.GATHERS) for case in engine.CASES}

TARGETS = (
    *(
        Target(
            f"{title}, beside {table.name(than)}",
            reach,
            {case: beside(suite, case, work, than) for case in cases},
        )
        for beside, rows in ((ours_by_theirs, _RATES), (theirs_by_ours, _TIMES))
        for title, reach, rivals, suite, cases, work in rows
        for than in rivals
    ),
    Target("loader with 2 threads by gathers in 2 processes", 0.9, _THREADS),
    *(Target(title, reach, values, at_most=True, unit=unit) for title, reach, unit, values in _MOST),
)


def answers(record: Record) -> dict[Target, Answer]:
    """What the run says about each."""
    return {target: target.answer(record) for target in TARGETS}


def report(record: Record) -> Iterator[str]:
    """A table of all of them."""
    yield from table.head("target", "reach", "found", "", words=4)
    for target, answer in answers(record).items():
        sign = "<=" if target.at_most else ">="
        yield table.row(
            [
                target.title,
                f"{sign} {target.reach:g} {target.unit}",
                answer.figure,
                f"**{answer.mark}{answer.state}**",
            ]
        )
