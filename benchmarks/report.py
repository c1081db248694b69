"""The figures as Markdown: how DSRT compares, also where it loses."""

from collections.abc import Iterable, Iterator

from benchmarks import coverage, sweep, table, targets
from benchmarks.record import Record
from benchmarks.suite import Setting
from benchmarks.suites import SUITES


def markdown(record: Record, pictures: Iterable[str], method: str, figures: str) -> str:
    """The whole report, with links to its `pictures`, to how all is measured, and to the record."""
    lines = ["# DSRT beside its peers", ""]
    if record.smoke:
        lines += ["**A smoke run: it shows that everything runs. The figures mean nothing.**", ""]
    lines += [
        f"{coverage.repeat(record)} It needs Linux, Python 3.11 or later, Rust, a C compiler (`cc`), the",
        'network for packages, and nox (`pip install "nox[uv]"`); a full run also 15 GB of disk and 16 GB of',
        "memory.",
        "",
    ]
    lines += [*coverage.missing(record), *coverage.headers(record), ""]
    lines += [
        f"How all of it is measured, and which systems are in which cases: {method}. The figure of every",
        f"turn, and the rate of every setting that was tried: [as JSON]({figures}).",
        "",
        "Figures are medians over the rounds; spread is the lowest and the highest round. A figure with ~ is",
        "uncertain, and so are a ratio to it and an answer to a target that it decides: a round of it was",
        f"more than {table.STEADY * 100:.0f} % off the median, or there were fewer than {table.FEWEST}, and",
        "then the spread, where it is shown, says how many.",
    ]
    for picture in pictures:
        lines += ["", f"![]({picture})"]
    for suite in (suite for suite in SUITES if suite in record.results):
        found = record.figures(suite, SUITES[suite].CASES)
        heading, *rest = SUITES[suite].report(found, record.smoke)
        lines += ["", heading, *coverage.origin(record, suite), *rest]
        lines += [*coverage.empty(record, suite), *coverage.absent(record, suite)]
    lines += [
        "",
        "## Targets",
        "",
        "What DSRT is to reach. Beside a system, with >= it is how many times as fast DSRT is, with <= what",
        "part of the other's time or memory it takes; *x* is a ratio. Of several cases the worst is shown,",
        "in brackets which. `~` before *met*: a figure of it is uncertain; before *missed*: each that misses",
        "is. A case that the other system says it cannot do does not count; where it failed or took too",
        "long, the target is not run. *Slots* are the batches that a loader has ahead, and the consumer's.",
        "Where the aim is a word, its number is: *ahead* and *not slower*, 1; *flat*, of 10 million samples",
        "by 10,000, at most 1.5; *a fraction* of torch's memory, at most 0.5.",
        "",
        *targets.report(record),
    ]
    lines += ["", "## What was tried", "", *_tried(record)]
    lines += ["", "## How each system does it", "", *_systems(record)]
    return "\n".join(lines) + "\n"


def _tried(record: Record) -> Iterator[str]:
    yield "Settings of systems that have a choice, each tried for a short time. **The fastest** was used;"
    yield "where two were close, both were tried again, for longer, and the rate here is that; not so in"
    yield "*Writing* and *Cold reads*. Rates are samples a second, in *The first batch* loaders, in *Drawing*"
    yield "draws, in *Writing* MiB."
    yield ""
    yield from table.head("suite", "case", "work", "system", "settings and their rates", words=5)
    for suite, cases in record.tried.items():
        for case, peers in cases.items():
            for peer, works in peers.items():
                for work, attempts in works.items():
                    if len(attempts) > 1:
                        best = sweep.best(attempts)
                        shown = "; ".join(
                            _attempt(setting, rate, setting == best) for setting, rate in attempts
                        )
                        yield table.row([suite, case, work, table.name(peer), shown])


def _attempt(setting: Setting, rate: float | str, chosen: bool) -> str:
    text = f"{sweep.told(setting)}: {rate if isinstance(rate, str) else table.digits(rate)}"
    return f"**{text}**" if chosen else text


def _systems(record: Record) -> Iterator[str]:
    for peer, said in record.systems.items():
        if isinstance(said, str):
            yield f"- {table.name(peer)} is not in this run: {said}"
            continue
        yield f"- {table.name(peer)} ({said['versions']}) reads: {said['reads']}"
        yield f"- {table.name(peer)} writes: {said['writes']}"
