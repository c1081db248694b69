"""One fault: what is changed in which files of a cache, and a bench on which that is done and undone."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Special = Literal["directory", "fifo", "socket", "dangling link", "link to itself", "device", "nothing"]
SPECIALS: tuple[Special, ...] = (
    "directory",
    "fifo",
    "socket",
    "dangling link",
    "link to itself",
    "device",
    "nothing",
)


@dataclass(frozen=True)
class LinkTo:
    """A symbolic link to a path of the test's own."""

    target: str


Content = bytes | Special | LinkTo


@dataclass
class Fault:
    """A change of a cache.

    Attributes:
        kind: What was done, in a word or two.
        region: What it was done to; outcomes are counted by it.
        what: All of it, for who looks at one case.
        edits: By path inside the cache, what is put there; ``""`` is the cache's directory itself.
        build: Whose manifest lies there now, and so whose values are right.
    """

    kind: str
    region: str
    what: str
    edits: dict[str, Content] = field(default_factory=dict)
    build: str = "new"

    def place(self) -> tuple[str | None, int | None]:
        """Return the field and the shard that hold the whole fault; None where it has no one place."""
        if len(self.edits) != 1:
            return None, None
        parts = next(iter(self.edits)).split("/")
        if len(parts) != 3:
            return None, None
        return parts[1], int(parts[2][:-6]) if parts[2].endswith(".shard") else None


class Bench:
    """A working copy of a specimen by hard links. Files are replaced, never written into.

    Args:
        pristine: The sound cache.
        place: An existing directory in which the copy will lie.
    """

    def __init__(self, pristine: Path, place: Path) -> None:
        self._pristine = pristine
        self.path = place / pristine.name
        self._restore()

    def apply(self, edits: dict[str, Content]) -> None:
        """Make a fault."""
        for name, content in edits.items():
            path = self.path / name if name else self.path
            _remove(path)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                _place(path, content)

    def revert(self, edits: dict[str, Content]) -> None:
        """Undo a fault, to the very files that were there before."""
        if any(name.count("/") < 2 and "." not in name for name in edits):
            self._restore()
            return
        for name in edits:
            _remove(self.path / name)
            with contextlib.suppress(FileNotFoundError):  # what the fault had added
                os.link(self._pristine / name, self.path / name)

    def _restore(self) -> None:
        _remove(self.path)
        shutil.copytree(self._pristine, self.path, copy_function=os.link)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _place(path: Path, content: Special | LinkTo) -> None:
    if isinstance(content, LinkTo):
        path.symlink_to(content.target)
    elif content == "directory":
        path.mkdir()
    elif content == "fifo":
        os.mkfifo(path)
    elif content == "socket":
        _socket(path)
    elif content == "dangling link":
        path.symlink_to("nowhere")
    elif content == "link to itself":
        path.symlink_to(path.name)
    elif content == "device":
        path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    # An address has room for some hundred letters only.
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)
