"""How `dsrt verify` shows people one path: the verdict, what was read, what was found."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from dsrt_cli.finding import WHOLE, Finding, count
from dsrt_cli.terminal import one_line, output, printable, size
from dsrt_format import Manifest, Problem

__all__ = ["show"]

# As many problems are shown one by one; of more, those of one rule and file are one row.
_MOST_SINGLE = 40
_MOST_ROWS = 200
_MOST_WARNINGS = 20
_MOST_RANGES = 5


def show(finding: Finding, level: str, part: tuple[int, int]) -> None:
    """Print what was found out about a path."""
    console = output()
    path = one_line(finding.path)
    if finding.status == "unseen" and not finding.unread:
        console.print(f"{path}: could not be looked at", style="yellow", soft_wrap=True)
        console.print(f"  {printable(finding.message or '')}", soft_wrap=True)
        return
    how_many = count(finding.problems)
    verdict, style = "sound", "green"
    if finding.status == "damaged":
        verdict, style = f"damaged: {how_many:,} problem{'s' if how_many > 1 else ''}", "bold red"
    elif finding.unread:
        verdict, style = "no problem in what could be read", "yellow"
    if unread := len(finding.unread):
        verdict += f", {unread:,} file{'s' if unread > 1 else ''} not read"
    if warnings := count(finding.warnings):
        verdict += f", {warnings:,} warning{'s' if warnings > 1 else ''}"
    console.print(f"{path}: {verdict}", style=style, soft_wrap=True)
    console.print(f"  {_effort(finding, level, part)}", soft_wrap=True)
    if finding.manifest is not None:
        console.print()
        console.print(_read(finding.manifest, finding.problems))
    if finding.problems:
        console.print()
        _show_problems(console, finding.problems)
    if finding.unread:
        console.print()
        _show_unread(console, finding.unread)
    if finding.warnings:
        console.print()
        _show_warnings(console, finding.warnings)


def _effort(finding: Finding, level: str, part: tuple[int, int]) -> str:
    held = "" if finding.manifest is None else f"{finding.manifest.num_samples:,} samples; "
    # Of what takes no time a speed would say nothing.
    is_long = finding.seconds > 0.5
    speed = f", {size(round(finding.bytes_read / finding.seconds))}/s" if is_long else ""
    which = "" if part == WHOLE else f", part {part[0]}/{part[1]}"
    return f"{held}{size(finding.bytes_read)} in {finding.seconds:,.1f} s{speed}; level {level}{which}"


def _read(manifest: Manifest, problems: Sequence[Problem]) -> Table:
    """The fields and the metadata, each with how many of the problems are its own.

    Of a rule of which not all are listed, the others are of those that come after the last one listed, or of
    that one itself: "+" says that there may be more.
    """
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("field", "kind", "dtype", "codec"):
        table.add_column(title)
    for title in ("shards", "size", "problems"):
        table.add_column(title, justify="right")
    listed = [problem for problem in problems if not problem.unlisted]
    found = Counter(problem.field for problem in listed if problem.kind != "metadata")
    cut = {problem.rule: problem.kind for problem in problems if problem.unlisted}
    last = {p.rule: p.field for p in listed if p.rule in cut and p.kind != "metadata"}
    maybe_more = False
    for field in manifest.fields:
        maybe_more = maybe_more or field.name in last.values()
        files, held = f"{len(field.files):,}", size(field.total_bytes)
        row = field.name, field.kind, field.dtype, field.codec, files, held
        _add(table, row, found[field.name], maybe_more)
    if manifest.metadata is not None:
        bad = sum(_is_of_metadata(problem.kind, problem.field) for problem in listed)
        row = "metadata", "", "", "", "", size(manifest.metadata.bytes)
        _add(table, row, bad, any(_is_of_metadata(kind, None) for kind in cut.values()))
    return table


def _is_of_metadata(kind: str, field: str | None) -> bool:
    """Whether a problem is one of metadata.arrow, the only file that belongs to no field."""
    return kind == "metadata" or (kind == "file" and field is None)


def _add(table: Table, row: Sequence[str], bad: int, maybe_more: bool) -> None:
    amount = f"{bad:,}{'+' if maybe_more else ''}"
    is_bad = bad > 0 or maybe_more
    table.add_row(*row, amount if is_bad else "-", style="red" if is_bad else None)


def _show_problems(console: Console, problems: Sequence[Problem]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("rule", "kind", "field"):
        table.add_column(title, no_wrap=True)
    table.add_column("shard", justify="right", no_wrap=True)
    table.add_column("sample", justify="right")
    table.add_column("what was found", overflow="fold")
    listed = [problem for problem in problems if not problem.unlisted]
    groups = [[problem] for problem in listed] if len(listed) <= _MOST_SINGLE else _grouped(listed)
    for group in groups[:_MOST_ROWS]:
        first = group[0]
        place = _or_dash(first.field), _or_dash(first.shard), _samples(group)
        message = one_line(first.message)
        if len(group) > 1:
            message = f"{len(group):,} of them; the first: {message}"
        table.add_row(first.rule, first.kind, *place, message)
    console.print(table)
    if more := sum(len(group) for group in groups[_MOST_ROWS:]):
        console.print(f"and {more:,} more, which --json lists", soft_wrap=True)
    for problem in problems:
        if more := problem.unlisted:
            console.print(f"and {more:,} more of {problem.rule}, which are not listed", soft_wrap=True)


def _grouped(problems: Sequence[Problem]) -> list[list[Problem]]:
    """Return the problems of one rule and file together, in the order of the first of each."""
    groups: dict[tuple[str, str | None, int | None], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.rule, problem.field, problem.shard), []).append(problem)
    return list(groups.values())


def _samples(group: Sequence[Problem]) -> str:
    """The samples of a group in ascending order, with those that follow each other as one range."""
    samples = sorted(problem.sample for problem in group if problem.sample is not None)
    ranges = []
    for _, run in groupby(enumerate(samples), key=lambda item: item[1] - item[0]):
        numbers = [sample for _, sample in run]
        ranges.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}")
    more = ["…"] if len(ranges) > _MOST_RANGES else []
    return ", ".join(ranges[:_MOST_RANGES] + more) or "-"


def _show_unread(console: Console, unread: Sequence[OSError]) -> None:
    console.print("what could not be read, where more may be wrong:", style="yellow", soft_wrap=True)
    for error in unread[:_MOST_ROWS]:
        console.print(f"  {one_line(f'{error.filename}: {error.strerror}')}", soft_wrap=True)
    if (more := len(unread) - _MOST_ROWS) > 0:
        console.print(f"  and {more:,} more, which --json lists", soft_wrap=True)


def _show_warnings(console: Console, warnings: Sequence[Problem]) -> None:
    console.print("warnings, which do not make the cache unsound:", style="yellow", soft_wrap=True)
    for problem in [problem for problem in warnings if not problem.unlisted][:_MOST_WARNINGS]:
        console.print(f"  {problem.rule}  {one_line(problem.message)}", soft_wrap=True)
    if (more := count(list(warnings)) - _MOST_WARNINGS) > 0:
        console.print(f"  and {more:,} more", soft_wrap=True)


def _or_dash(value: object) -> str:
    return "-" if value is None else one_line(str(value)[:80])
