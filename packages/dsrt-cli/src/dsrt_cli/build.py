"""`dsrt build`: build the cache of a source, go on with it, or reuse the one that is there."""

import re
import warnings
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from dsrt_cli.extras import need
from dsrt_cli.origin import is_of_a_source
from dsrt_cli.source import load_source
from dsrt_cli.terminal import fail, fail_with_traceback, output, printable, progress, with_notes
from dsrt_format import DsrtError

if TYPE_CHECKING:
    from dsrt_native import BuildResult

__all__ = ["build"]


_OPTIONS = (
    (r"""on_stale=(['"])(\w+)\1""", r"--on-stale \2"),
    (r"(workers|threads)=(\d+)", r"--\1 \2"),
    ("resume=False", "--no-resume"),
    ("resume=True", "--resume"),
)


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
    workers: Annotated[
        int,
        typer.Option(min=0, max=1024, help="Processes that make samples; the source needs random access."),
    ] = 0,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, max=1024, show_default="4, or the CPUs", help="Threads that compress, digest and write."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option(help="Go on from what an earlier run has made durable, or start over.")
    ] = True,
) -> None:
    """Build the cache of a source at ROOT/<name of the source>, or reuse the one that is there.

    A build that was ended, however it was, goes on from what is durable if the source has a fingerprint.
    """
    native = need("dsrt_native", "native")
    try:
        result = _build(native, source, root, on_stale, workers, threads, resume)
    except SystemExit as error:
        # Whatever code it asks for: no cache was built.
        ended = f"{source} ended the program by sys.exit({error.code!r})"
        fail("\n".join([ended, *getattr(error, "__notes__", [])]))
    except Exception as error:
        # Else it would be one message, or even be taken for damage that was found, for the end of whoever
        # reads what this prints, or for an exit of this command.
        if is_of_a_source(error) or isinstance(error, typer.Exit):
            fail_with_traceback()
        # A broken pipe here is the source's in a worker process, whose traceback is a note: only what is
        # printed below can lose its reader.
        if isinstance(error, DsrtError | BrokenPipeError):
            fail(with_notes(error, _in_options))
        raise
    kept = f", {result.resumed_from:,} of them from an earlier run" if result.resumed_from else ""
    lines = [f"{result.status}: {result.num_samples:,} samples in {result.path}{kept}"]
    if result.restarted is not None:
        lines.append(_in_options(f"not resumed: {result.restarted}"))
    for line in lines:
        output().print(printable(line), soft_wrap=True)


def _build(
    native: ModuleType,
    source: str,
    root: Path,
    on_stale: OnStale,
    workers: int,
    threads: int | None,
    resume: bool,
) -> "BuildResult":
    found = load_source(source)
    if workers and not all(hasattr(type(found), name) for name in ("__getitem__", "__len__")):
        raise typer.BadParameter(
            f"{source} has no __getitem__ and __len__, by which processes could share it",
            param_hint="--workers",
        )
    with progress(f"building {found.name}") as report, warnings.catch_warnings():
        # This is in the result, too.
        warnings.filterwarnings("ignore", "(?s).* samples that an earlier run made durable", RuntimeWarning)
        result: BuildResult = native.build(
            found,
            root,
            workers=workers,
            threads=threads,
            on_stale=on_stale.value,
            resume=resume,
            progress=lambda now: report(now.done, now.total, now.rate, now.seconds_left),
        )
    return result


def _in_options(text: str) -> str:
    """Say the arguments of `dsrt_native.build` as the options that people have here; paths stay."""
    for argument, option in _OPTIONS:
        text = re.sub(rf"(?<![\w/]){argument}(?![\w/])", option, text)
    return text
