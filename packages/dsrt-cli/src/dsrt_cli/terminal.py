"""What people see: consoles, sizes, a bar for what takes long, one way to fail."""

import errno
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NoReturn, Protocol, TextIO

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

__all__ = [
    "Report",
    "fail",
    "fail_with_traceback",
    "is_terminal",
    "messages",
    "one_line",
    "output",
    "printable",
    "progress",
    "silence",
    "size",
    "with_notes",
]


class Report(Protocol):
    """A function to report to."""

    def __call__(
        self, done: int, total: int | None, rate: float | None = None, seconds_left: float | None = None
    ) -> None:
        """Say how much is done and how much there is, None where nobody knows.

        Of samples, whoever counts them knows the rate: some may be of an earlier run.
        """


_WIDE = 1_000_000


class _Console(Console):
    """One whose reader may go; Rich itself would end the program with 1, which says that damage was found."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether people look at a standard stream, whatever the environment says of colours.

    Args:
        stream: None where whoever started this closed it: then nobody looks, and the exit code says all.
    """
    return stream is not None and stream.isatty()


def output() -> Console:
    """Standard output: as wide as the terminal; in a pipe or file, lines are as long as they have to be."""
    width = None if is_terminal(sys.stdout) else _WIDE
    return _Console(width=width, highlight=False, markup=False, emoji=False)


def printable(text: str) -> str:
    """Escape what would move the cursor, clear the screen or hide: caches may come from strangers.

    Line ends are kept.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else letter.encode("unicode_escape").decode()
        for letter in text
    )


def one_line(text: str) -> str:
    """Escape line ends, too: what is named here must not look like two things."""
    return printable(text).replace("\n", "\\n")


def size(count: int) -> str:
    """A number of bytes for people, such as ``"1.5 MiB"``."""
    if count < 1024:
        return f"{count} B"
    amount = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:,.1f} TiB"


def with_notes(error: BaseException, said: Callable[[str], str] = str) -> str:
    """What an error says, with its notes: which sample it was, and what is kept.

    Args:
        error: The error.
        said: Says its message and its notes in other words, but for notes of several lines: what a traceback
            of a worker process shows is code.
    """
    words = str(error) or (
        "the memory is too small" if isinstance(error, MemoryError) else type(error).__name__
    )
    notes = (note if "\n" in note else said(note) for note in getattr(error, "__notes__", []))
    return "\n".join([said(words), *notes])


def silence(stream: TextIO) -> None:
    """Let what is still to be written to a standard stream go nowhere; Python would complain at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def messages() -> Iterator[None]:
    """Say something on standard error; if that is full or its reader has gone, only the exit code speaks."""
    try:
        yield
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def fail(message: str, *, code: int = 2) -> NoReturn:
    """Print one message on standard error and end with an exit code.

    Raises:
        typer.Exit: Always.
    """
    console = _Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    with messages():
        console.print(Text.assemble(("error: ", "bold red"), printable(message)))
    raise typer.Exit(code)


def fail_with_traceback() -> NoReturn:
    """Print the traceback of the exception that is being handled, and end with exit code 2.

    Python itself would end with 1, which says that damage was found.

    Raises:
        typer.Exit: Always.
    """
    if sys.stderr is not None:
        with messages():
            traceback.print_exc()
    raise typer.Exit(2)


@contextmanager
def progress(label: str, *, of_bytes: bool = False, delay: float = 1.0) -> Iterator[Report]:
    """Show a bar with rate and time left on standard error while the block runs.

    Nothing is shown during the first `delay` seconds, and never where standard error is no terminal.

    Args:
        label: What is being done.
        of_bytes: Whether bytes are counted, and not samples.
        delay: In seconds.

    Yields:
        The function to report to.
    """
    if not is_terminal(sys.stderr):
        yield lambda done, total, rate=None, seconds_left=None: None
        return
    counts = _BYTES if of_bytes else _SAMPLES
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *counts)
    # What the code of a source prints goes where it would go without a bar, but for a terminal, where it
    # would be in the bar's way.
    bar = Progress(
        *columns, console=_Console(stderr=True), transient=True, redirect_stdout=is_terminal(sys.stdout)
    )
    task = bar.add_task(printable(label), total=None, rate=None, left=None)
    # By the clock and not by the reports: the first of them may take long, too.
    timer = threading.Timer(delay, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, total, rate=None, seconds_left=None: bar.update(
            task, completed=done, total=total, rate=rate, left=seconds_left
        )
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        rate = task.fields["rate"]
        return Text("" if rate is None else f"{rate:,.3g}/s" if rate < 10 else f"{rate:,.0f}/s")


class _Left(ProgressColumn):
    def render(self, task: Task) -> Text:
        left = task.fields["left"]
        return Text("-:--:--" if left is None else str(timedelta(seconds=round(left))))


_BYTES: tuple[ProgressColumn, ...] = (
    DownloadColumn(binary_units=True),
    TransferSpeedColumn(),
    TimeRemainingColumn(),
)
_SAMPLES: tuple[ProgressColumn, ...] = (MofNCompleteColumn(), _Rate(), _Left())
