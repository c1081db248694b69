"""What people see: consoles, sizes, a bar for what takes long, one way to fail."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NoReturn, Protocol

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

__all__ = ["Report", "fail", "one_line", "output", "printable", "progress", "size", "with_notes"]


class Report(Protocol):
    """A function to report to."""

    def __call__(
        self, done: int, total: int | None, rate: float | None = None, seconds_left: float | None = None
    ) -> None:
        """Say how much is done and how much there is, None where nobody knows.

        Of samples, whoever counts them knows the rate: some may be of an earlier run.
        """


_WIDE = 10_000


def output() -> Console:
    """Standard output: as wide as the terminal; in a pipe or file, lines are as long as they have to be."""
    # None where whoever started this closed it: then nobody reads, and the exit code says all.
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    width = None if is_terminal else _WIDE
    return Console(width=width, highlight=False, markup=False, emoji=False)


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


def with_notes(error: BaseException) -> str:
    """What an error says, with its notes: which sample it was, and what is kept."""
    words = str(error) or (
        "the memory is too small" if isinstance(error, MemoryError) else type(error).__name__
    )
    return "\n".join([words, *getattr(error, "__notes__", [])])


def fail(message: str, *, code: int = 2) -> NoReturn:
    """Print one message on standard error and end with an exit code.

    Raises:
        typer.Exit: Always.
    """
    console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), printable(message)))
    raise typer.Exit(code)


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
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total, rate=None, seconds_left=None: None
        return
    counts = _BYTES if of_bytes else _SAMPLES
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *counts)
    bar = Progress(*columns, console=console, transient=True)
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
