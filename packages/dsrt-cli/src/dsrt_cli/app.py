"""The command line as a whole: its commands, `--version`, and what becomes of errors."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from dsrt_cli.build import build
from dsrt_cli.inspect import inspect
from dsrt_cli.query import query
from dsrt_cli.terminal import fail, fail_with_traceback, messages, printable, silence, with_notes
from dsrt_cli.verify import verify
from dsrt_format import DsrtError, FormatError, NotPublishedError, UnknownVersionError

__all__ = ["app", "main"]

_UNSEEN = (NotPublishedError, UnknownVersionError)
_PACKAGES = ("dsrt-format", "dsrt-native", "dsrt-meta", "dsrt-torch")


# Of what is wrong in a command line; click has it, or typer's own copy of that.
_UsageError = typer.BadParameter.__mro__[1]
_INTERRUPTED = 128 + signal.SIGINT
_READER_HAS_GONE = 128 + signal.SIGPIPE


@contextmanager
def _ends() -> Iterator[None]:
    """Turns errors that say all there is to say into one message; a defect keeps its traceback.

    Raises:
        typer.Exit: With the exit code, if anything was raised.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except (typer.Exit, SystemExit):
        raise
    except KeyboardInterrupt as interrupt:
        with messages():
            for note in getattr(interrupt, "__notes__", []):
                typer.echo(printable(note), err=True)
        raise typer.Exit(_INTERRUPTED) from None
    except BrokenPipeError:
        # As in `dsrt query … | head`: no error to talk about, but not the end of the work either.
        silence(sys.stdout)
        raise typer.Exit(_READER_HAS_GONE) from None
    except (DsrtError, OSError, MemoryError) as error:
        _drop_what_cannot_be_written()
        damaged = isinstance(error, FormatError) and not isinstance(error, _UNSEEN)
        fail(with_notes(error), code=1 if damaged else 2)
    except BaseException as error:  # a panic of Rust code is no Exception
        if isinstance(error, _UsageError):
            _fail_for_usage(error)
        fail_with_traceback()


def _drop_what_cannot_be_written() -> None:
    """Of a disk that is full one message is enough: Python would write again at its end, and complain."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        silence(sys.stdout)


def _fail_for_usage(error: Any) -> NoReturn:
    command = error.ctx.command_path if error.ctx else "dsrt"
    fail(f"{error.format_message()}\n{command} --help says what there is")


class _Commands(TyperGroup):
    """All commands; what is raised in any, or in reading the command line, ends in one way."""

    @_ends()
    def make_context(self, *args: Any, **options: Any) -> Any:
        return super().make_context(*args, **options)

    @_ends()
    def invoke(self, ctx: Any) -> Any:
        return super().invoke(ctx)


# Without Rich's markup, which hides defaults in brackets, and frames errors.
app = typer.Typer(
    cls=_Commands,
    name="dsrt",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
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
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show versions and exit.")
    ] = False,
) -> None:
    """Build, look at, check and query caches of training samples.

    Exit codes: 0 done and sound, 1 damage found, 2 could not do or could not look.
    """
    if context.invoked_subcommand is None:
        with messages():
            typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def main() -> None:
    """Run the command line of this process, and exit."""
    try:
        app()
    except SystemExit as end:
        if end.code != _INTERRUPTED:
            raise
    # A shell ends a loop or a script of its own only if Ctrl-C has ended this.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
