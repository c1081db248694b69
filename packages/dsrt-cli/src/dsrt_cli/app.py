"""The command line as a whole: its commands, `--version`, and what becomes of errors."""

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dsrt_cli.build import build
from dsrt_cli.inspect import inspect
from dsrt_cli.query import query
from dsrt_cli.terminal import fail, printable
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
            # The reader of our output has gone, as in `dsrt query … | head`: that is no error to talk about.
            raise
        except (DsrtError, OSError) as error:
            damaged = isinstance(error, FormatError) and not isinstance(error, _UNSEEN)
            # Notes say which sample it was, and what is kept.
            fail("\n".join([str(error), *getattr(error, "__notes__", [])]), code=1 if damaged else 2)
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


def main() -> None:
    """Run the command line of this process, and exit."""
    app()
