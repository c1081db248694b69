"""`dsrt verify`: check everything in caches, and list every damaged record."""

import importlib
import json
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from dsrt_cli import amounts
from dsrt_cli.extras import need
from dsrt_cli.finding import WHOLE, Verify, lines, look
from dsrt_cli.terminal import one_line, progress
from dsrt_cli.verdict import show
from dsrt_format import validate

__all__ = ["verify"]


class Level(StrEnum):
    """How much is looked at."""

    STRUCTURE = "structure"
    RECORDS = "records"
    DIGESTS = "digests"


def verify(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Directories of caches.")],
    level: Annotated[
        Level,
        typer.Option(
            help="How much is looked at: all but the records; every record as well; the digests of whole "
            "files as well."
        ),
    ] = Level.DIGESTS,
    part: Annotated[
        str | None,
        typer.Option(metavar="K/N", help="Only part K, from 0, of N about equal ones. Needs dsrt-native."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Read at most so fast: 300MB/s, 1GiB/s. Needs dsrt-native."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, max=1024, show_default="the CPUs", help="Threads that check. Needs dsrt-native."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="A line of JSON per problem or unread file, a summary per path.")
    ] = False,
) -> None:
    """Check everything that belongs to caches, and list every damaged record.

    With dsrt-native installed, that is done on all cores at the speed of the disk.

    A file that cannot be read is listed, too, and the others are checked all the same.

    Exit codes: 0 all are sound, 1 damage was found, 2 none was found but a path or a file could not be
    looked at.
    """
    which = None if part is None else amounts.part(part)
    check = _engine(level, which, None if rate is None else amounts.rate(rate), threads)
    states = set()
    for path in paths:
        with progress(f"verifying {one_line(str(path))}", of_bytes=True) as report:
            finding = look(path, check, report)
        states.add(finding.status)
        if as_json:
            for line in lines(finding, level.value, which or WHOLE):
                typer.echo(json.dumps(line))
        else:
            show(finding, level.value, which or WHOLE)
    raise typer.Exit(1 if "damaged" in states else 2 if "unseen" in states else 0)


def _engine(level: Level, part: tuple[int, int] | None, rate: float | None, threads: int | None) -> Verify:
    """Return dsrt-native's verification where it is installed or has to be, else the plain one."""
    native: ModuleType | None
    if (part, rate, threads) != (None, None, None):
        native = need("dsrt_native", "native")
    else:
        try:
            native = importlib.import_module("dsrt_native")
        except ModuleNotFoundError as error:
            # Of an installation that is broken the slow way would be no word.
            if error.name != "dsrt_native":
                raise
            native = None
    if native is None:
        return lambda path, report: validate(path, level=level.value, progress=report)
    return lambda path, report: native.verify(
        path, level=level.value, part=part or WHOLE, rate=rate, threads=threads, progress=report
    )
