"""The command line as a whole: its commands, `--version`, and what becomes of errors."""

import os
import signal
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dsrt_cli.build import build
from dsrt_cli.inspect import inspect
from dsrt_cli.query import query
from dsrt_cli.terminal import fail, printable, with_notes
from dsrt_cli.verify import verify
from dsrt_format import DsrtError, FormatError, NotPublishedError, UnknownVersionError

__all__ = ["app", "main"]

_UNSEEN = (NotPublishedError, UnknownVersionError)
_PACKAGES = ("dsrt-format", "dsrt-native", "dsrt-meta", "dsrt-torch")


class _Commands(TyperGroup):
    """Turns errors that say all there is to say into one message; a defect keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(_reader_has_gone()) from None
        except (DsrtError, OSError, MemoryError) as error:
            damaged = isinstance(error, FormatError) and not isinstance(error, _UNSEEN)
            fail(with_notes(error), code=1 if damaged else 2)
        except KeyboardInterrupt as interrupt:
            for note in getattr(interrupt, "__notes__", []):
                typer.echo(printable(note), err=True)
            raise


app = typer.Typer(
    cls=_Commands, name="dsrt", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
for _command in (build, inspect, verify, query):
    app.command()(_command)


def _show_version(asked: bool) -> None:
    if not asked:
        return
    typer.echo(f"dsrt-cli {version('dsrt-cli')}")
    for package in _PACKAGES:
        try:
            typer.echo(f"{package} {version(package)}")
        except PackageNotFoundError:
            typer.echo(f"{package} is not installed")
    raise typer.Exit


@app.callback()
def _dsrt(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show versions and exit.")
    ] = False,
) -> None:
    """Build, look at, check and query caches of training samples.

    Exit codes: 0 done and sound, 1 damage found, 2 could not do or could not look.
    """


def _reader_has_gone() -> int:
    """As in `dsrt query … | head`: no error to talk about, but not the end of the work either.

    Returns:
        The exit code of a program that the signal of a broken pipe ends.
    """
    # What is still to be written goes nowhere, or Python would complain about it at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE


def main() -> None:
    """Run the command line of this process, and exit."""
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        sys.exit(_reader_has_gone())
    except Exception:
        # A defect. Python itself would end with 1, which says that damage was found.
        traceback.print_exc()
        sys.exit(2)
