"""What is to be reached, each with the figure that says whether it is."""

from collections.abc import Iterator

from benchmarks import table
from benchmarks.answers import (
    Answer,
    Target,
    Value,
    figure,
    growth,
    own,
    part,
    times_as_fast,
    times_as_long,
    times_as_short,
)
from benchmarks.record import Record
from benchmarks.workloads import WORKLOADS

_CODECS = ("tokens-zstd", "tokens-zstd-dict", "photographs-zstd")
_READ = ("images", "records", "tokens", "tokens-list", *_CODECS)
_RIVALS = ("loaderx", "torch", "grain", "dataset_rt")
_PREFETCHED = 5  # batches: DSRT's four ahead, and the consumer's


def _gather(title: str, case: str, than: str, reach: float) -> Target:
    return Target(
        f"{title}, beside {table.name(than)}", reach, {case: times_as_fast("read", case, "gather", than)}
    )


def _each(cases: tuple[str, ...], suite: str, work: str, than: str) -> dict[str, Value]:
    return {case: times_as_fast(suite, case, work, than) for case in cases}


def _beyond_slots(case: str) -> Value:
    workload = WORKLOADS[case]
    slots = _PREFETCHED * workload.bytes / workload.samples * workload.batch / 2**20
    return lambda record: (
        figure(record, "read", case, "loop steady") - figure(record, "read", case, "loop before") - slots
    )


def _written(codecs: bool, way: str) -> dict[str, Value]:
    cases = _CODECS if codecs else ("records", "images", "tokens")
    return {case: times_as_short("write", case, f"{way} memory", "loaderx") for case in cases}


def _checksums(case: str) -> Value:
    unverified = part("engine", case, "verified", "unverified")
    return lambda record: 100 * (1 - unverified(record))


TARGETS = (
    _gather("dense gather, 150 KiB raw", "images", "loaderx", 3.5),
    _gather("dense gather, 150 KiB raw", "images", "memmap", 1.5),
    _gather("dense gather, 150 KiB raw", "images", "machine", 0.85),
    _gather("dense gather, 2 KiB raw", "records", "loaderx", 5),
    _gather("dense gather, 2 KiB raw", "records", "memmap", 1.1),
    _gather("ragged tokens, packed", "tokens", "loaderx", 5),
    _gather("ragged tokens, list", "tokens-list", "loaderx", 2),
    *(
        _gather(f"ragged tokens, {form}", case, than, 1)
        for form, case in (("packed", "tokens"), ("list", "tokens-list"))
        for than in ("lmdb", "grain")
    ),
    _gather("tokens, zstd", "tokens-zstd", "loaderx", 1.7),
    _gather("tokens, zstd with a dictionary", "tokens-zstd-dict", "loaderx", 2.3),
    _gather("photographs, zstd", "photographs-zstd", "loaderx", 1.9),
    Target("zstd, beside libzstd on a core", 0.95, _each(_CODECS, "read", "gather", "machine")),
    *(
        Target(f"loader, Python loop, beside {table.name(than)}", 1, _each(_READ, "read", "loop", than))
        for than in _RIVALS
    ),
    Target(
        "loader's own memory, beside torch's",
        0.5,
        {case: times_as_long("read", case, "loop steady", "torch") for case in _READ},
        at_most=True,
    ),
    Target(
        "iteration by samples, beside dataset-rt",
        10,
        _each(("images", "records", "tokens"), "samples", "samples", "dataset_rt"),
    ),
    Target("write raw, samples one by one, beside loaderx", 1, _written(codecs=False, way="samples")),
    Target("write raw, batches, beside loaderx", 1, _written(codecs=False, way="batches")),
    Target("write zstd, samples one by one, beside loaderx", 1.5, _written(codecs=True, way="samples")),
    Target("write zstd, batches, beside loaderx", 1.5, _written(codecs=True, way="batches")),
    Target("draws, uniform, beside loaderx", 1, _each(("1e6", "1e8"), "sampler", "uniform", "loaderx")),
    Target("draws, permuted, 1e6, beside loaderx", 1.5, _each(("1e6",), "sampler", "permuted", "loaderx")),
    Target("draws, permuted, 1e8, beside loaderx", 5, _each(("1e8",), "sampler", "permuted", "loaderx")),
    Target(
        "draws, weighted, batches of 256, beside torch.multinomial",
        100,
        _each(("1e6", "1e8"), "sampler", "weighted, a call a batch", "torch"),
    ),
    Target(
        "open 10 million samples, beside dataset-rt",
        1,
        {"1e7": times_as_long("size", "1e7-samples", "open", "dataset_rt")},
        at_most=True,
    ),
    Target(
        "open, 10 million samples by 10,000",
        1.5,
        {"1e7": growth("size", "open", "1e7-samples", "1e4-samples")},
        at_most=True,
    ),
    Target(
        "checksums, part of the time of a gather",
        10,
        {case: _checksums(case) for case in ("images", *_CODECS)},
        at_most=True,
        unit="%",
    ),
    Target(
        "Python's part of a batch of 1",
        15,
        {"batch-1": own("overhead", "batch-1", "batch", scale=1e6)},
        at_most=True,
        unit="us",
    ),
    Target(
        "first batch of a fresh loader, in batches",
        20,
        {case: part("first", case, "first", "batch") for case in ("images", "records", "tokens")},
        at_most=True,
        unit="batches",
    ),
    Target(
        "first batch of the next loader, in batches",
        3,
        {case: part("first", case, "second", "batch") for case in ("images", "records", "tokens")},
        at_most=True,
        unit="batches",
    ),
    Target(
        "loader with 2 threads by gathers on 2 threads",
        0.9,
        {
            case: part("engine", case, "loader, 2 threads", "gather, 2 threads")
            for case in ("images", "records", "records-512", *_CODECS)
        },
    ),
    Target(
        "allocations of 4 KiB or more in steady state",
        0,
        {"batch-1": own("overhead", "batch-1", "allocations")},
        at_most=True,
        unit="a batch",
    ),
    Target(
        "loader's memory beyond its slots",
        60,
        {case: _beyond_slots(case) for case in _READ},
        at_most=True,
        unit="MiB",
    ),
    Target(
        "state_dict",
        20,
        {"batch-1": own("overhead", "batch-1", "state_dict", scale=1e6)},
        at_most=True,
        unit="us",
    ),
    Target(
        "permuted, 1e9 rows, seek by step",
        1.1,
        {"batch-1": part("overhead", "batch-1", "seek", "step")},
        at_most=True,
    ),
    Target(
        "weighted, 1e8 rows, prepared",
        3,
        {"1e8": own("sampler", "1e8", "weighted, first")},
        at_most=True,
        unit="s",
    ),
    Target(
        "weighted, draws of 1e6 rows by those of 1e8",
        4,
        {"1e8": growth("sampler", "weighted", "1e6", "1e8")},
        at_most=True,
    ),
    Target(
        "cold random reads, bytes read by bytes asked for",
        1.1,
        {case: own("cold", case, "touched") for case in ("records", "images")},
        at_most=True,
    ),
    Target(
        "cost of a sample, of 10 million by of 10,000",
        1.5,
        {work: growth("size", work, "1e4-samples", "1e7-samples") for work in ("gather", "loop")},
        at_most=True,
    ),
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
            [target.title, f"{sign} {target.reach:g} {target.unit}", answer.figure, f"**{answer.state}**"]
        )
