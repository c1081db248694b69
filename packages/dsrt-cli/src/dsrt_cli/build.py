"""`dsrt build`: build the cache of a source, or reuse the one that is there."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dsrt_cli.extras import need
from dsrt_cli.source import load_source
from dsrt_cli.terminal import output, printable, progress

__all__ = ["build"]


class OnStale(StrEnum):
    """What to do with a cache of the source's name that has another fingerprint."""

    ERROR = "error"
    REBUILD = "rebuild"
    REUSE = "reuse"


def build(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:SOURCE",
            help="A source in a module, or a class or function that gives one when called without arguments. "
            "The current directory is importable.",
        ),
    ],
    root: Annotated[
        Path, typer.Option("--output", "-o", metavar="ROOT", help="The directory that holds the cache.")
    ],
    on_stale: Annotated[
        OnStale,
        typer.Option(help="A cache with another fingerprint is there: refuse, replace it, or take it."),
    ] = OnStale.ERROR,
) -> None:
    """Build the cache of a source at ROOT/<name of the source>, or reuse the one that is there."""
    native = need("dsrt_native", "native")
    found = load_source(source)
    with progress(f"building {found.name}") as report:
        result = native.build(found, root, on_stale=on_stale.value, progress=report)
    output().print(
        printable(f"{result.status}: {result.num_samples:,} samples in {result.path}"), soft_wrap=True
    )
