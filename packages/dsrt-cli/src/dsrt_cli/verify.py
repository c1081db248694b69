"""`dsrt verify`: read everything, and list every damaged record."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from dsrt_cli.terminal import output, printable, progress, size
from dsrt_format import FormatError, Manifest, NotPublishedError, UnknownVersionError

if TYPE_CHECKING:
    from dsrt_format.validate import Problem

__all__ = ["verify"]


@dataclass(frozen=True)
class Finding:
    """What there is to say about one path.

    Attributes:
        path: As it was given.
        status: ``"sound"``, ``"damaged"`` or ``"unseen"``: it could not be looked at.
        samples: How many the manifest promises; None if it does not say.
        bytes: Of all files that belong to the cache; None likewise.
        problems: What is damaged: rule, field, shard, sample, message.
        message: Why it could not be looked at.
    """

    path: str
    status: str
    samples: int | None = None
    bytes: int | None = None
    problems: Sequence[dict[str, Any]] = ()
    message: str | None = None


def verify(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Directories of caches.")],
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON per path.")] = False,
) -> None:
    """Read everything that belongs to caches, and list every damaged record.

    Exit codes: 0 all are sound, 1 damage was found, 2 none was found but a path could not be looked at.
    """
    findings = []
    for path in paths:
        finding = _look(path)
        findings.append(finding)
        if as_json:
            typer.echo(json.dumps(finding.__dict__))
        else:
            _show(finding)
    states = {finding.status for finding in findings}
    raise typer.Exit(1 if "damaged" in states else 2 if "unseen" in states else 0)


def _look(path: Path) -> Finding:
    from dsrt_format import validate

    samples: int | None = None
    total: int | None = None
    try:
        manifest = Manifest.load(path)
        samples, total = manifest.num_samples, sum(length for _, length, _, _ in manifest.files())
    except (NotPublishedError, UnknownVersionError, OSError) as error:
        return Finding(str(path), "unseen", message=str(error))
    except FormatError:
        pass  # the validator says more about a damaged manifest than this first error
    try:
        with progress(f"verifying {path}", of_bytes=True) as report:
            problems = [_as_dict(problem) for problem in validate(path, progress=report)]
    except OSError as error:
        return Finding(str(path), "unseen", samples, total, message=str(error))
    return Finding(str(path), "damaged" if problems else "sound", samples, total, problems)


def _as_dict(problem: "Problem") -> dict[str, Any]:
    return {
        "rule": problem.rule,
        "kind": problem.kind,
        "field": problem.field,
        "shard": problem.shard,
        "sample": problem.sample,
        "message": problem.message,
    }


def _show(finding: Finding) -> None:
    console = output()
    path = printable(finding.path)
    if finding.status == "unseen":
        console.print(f"{path}: could not be looked at", style="yellow", soft_wrap=True)
        console.print(f"  {printable(finding.message or '')}", soft_wrap=True)
        return
    held = ""
    if finding.samples is not None and finding.bytes is not None:
        held = f" {finding.samples:,} samples, {size(finding.bytes)} read."
    if finding.status == "sound":
        console.print(f"{path}: sound.{held}", style="green", soft_wrap=True)
        return
    count = len(finding.problems)
    console.print(
        f"{path}: {count:,} problem{'s' if count > 1 else ''}.{held}", style="bold red", soft_wrap=True
    )
    table = Table(box=None, header_style="bold")
    for title in ("rule", "field", "shard", "sample"):
        table.add_column(title, justify="right" if title in ("shard", "sample") else "left", no_wrap=True)
    table.add_column("what was found", overflow="fold")
    for problem in finding.problems:
        place = [_or_dash(problem[key]) for key in ("field", "shard", "sample")]
        table.add_row(problem["rule"], *place, printable(problem["message"]))
    console.print(table)


def _or_dash(value: object) -> str:
    return "-" if value is None else printable(str(value))
