"""How the demo speaks: numbered acts, short sentences, tables. And how it ends if something is wrong."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from rich.console import Console, RenderableType
from rich.rule import Rule
from rich.table import Table

OUTPUT = Path("demo-output")
"""Everything that the demo leaves, under the directory it is started in."""

console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 100)


def act(number: int, title: str) -> None:
    """Open an act."""
    console.print()
    console.print(Rule(f" {number}. {title} ", align="left", style="cyan"))


def say(*sentences: RenderableType) -> None:
    """Print sentences, one a line, or whatever rich can show."""
    for sentence in sentences:
        console.print(sentence)


def table(*columns: str, numbers: tuple[int, ...] = ()) -> Table:
    """An empty table; the columns at the places `numbers` are aligned to the right."""
    made = Table(box=None, pad_edge=True, header_style="bold")
    for place, column in enumerate(columns):
        made.add_column(column, justify="right" if place in numbers else "left", no_wrap=True)
    return made


def require(condition: bool, failure: str) -> None:
    """End the demo with exit code 1 unless the condition holds."""
    if not condition:
        fail(failure)


def fail(failure: str) -> NoReturn:
    """End the demo with exit code 1."""
    console.print(f"\nThe demo failed: {failure}", style="bold red")
    sys.exit(1)


def run(*command: str | Path, expect: int = 0) -> None:
    """Show a command and what it prints; another exit code than expected ends the demo."""
    words = [str(word) for word in command]
    console.print(f"\n$ {shlex.join(words)}", style="bold")
    program = [sys.executable, "-m", "dsrt_cli"] if words[0] == "dsrt" else [sys.executable]
    sys.stdout.flush()
    done = subprocess.run(program + words[1:], check=False)
    require(done.returncode == expect, f"{words[0]} ended with {done.returncode}, expected {expect}")
