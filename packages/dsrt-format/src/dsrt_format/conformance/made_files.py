"""The vector good/all-kinds with what no package can hold in the place of one of its files."""

import json
import os
import shutil
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dsrt_format.conformance.expectation import Expected, Place, problem, refused
from dsrt_format.conformance.vectors import FOLDER

__all__ = ["FILES"]

_BASE = FOLDER / "good/all-kinds"

# Each file that is replaced, and where its damage is reported.
_PLACES: dict[str, tuple[str, Place]] = {
    "manifest": ("manifest.json", problem("R000", "manifest")),
    "fixed-shard": ("fields/dense/00001.shard", problem("R030", "file", field="dense", shard=1)),
    "indexed-shard": ("fields/rag/00000.shard", problem("R030", "file", field="rag", shard=0)),
    "dictionary": ("fields/tokens/dictionary.bin", problem("R030", "file", field="tokens")),
    "metadata": ("metadata.arrow", problem("R030", "file")),
}


def _copy(path: Path) -> Expected:
    """Copy the whole vector to `path`, and return what is in it."""
    shutil.copytree(_BASE / "cache", path, copy_function=shutil.copyfile)
    expected: Expected = json.loads((_BASE / "expected.json").read_text("utf-8"))
    return expected


def _socket(path: Path) -> None:
    """Leave a socket at `path`, which may be longer than the name of a socket can be."""
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


_INSTEAD: dict[str, tuple[str, Callable[[Path], object]]] = {
    "directory": ("lies a directory", Path.mkdir),
    "fifo": ("lies a FIFO, which must not block the reader", os.mkfifo),
    "socket": ("lies a socket", _socket),
    "device": ("lies a link to the device /dev/null", lambda path: path.symlink_to("/dev/null")),
    "dangling-link": ("lies a link to nothing", lambda path: path.symlink_to("nowhere")),
    "link-to-itself": ("lies a link to itself", lambda path: path.symlink_to(path.name)),
}


def _replaced(name: str, where: Place, put: Callable[[Path], object], path: Path) -> Expected:
    _copy(path)
    (path / name).unlink()
    put(path / name)
    return refused("open", where)


def _linked(name: str, path: Path) -> Expected:
    """Move a file or directory out of the cache and leave a link, which readers follow."""
    expected = _copy(path)
    elsewhere = path.parent / "elsewhere"
    (path / name).rename(elsewhere)
    (path / name).symlink_to(elsewhere)
    return expected


def _elsewhere(path: Path) -> Expected:
    """Leave nothing at the path that is opened."""
    return refused("open", problem("R000", "manifest"))


def _no_directory(path: Path) -> Expected:
    """Leave a file in the place of the whole cache."""
    path.write_bytes(b"no directory")
    return refused("open", problem("R000", "manifest"))


FILES: dict[str, tuple[str, Callable[[Path], Expected]]] = {
    f"bad/{where['rule']}-{label}-{kind}": (
        f"In the place of {name} {words}.",
        partial(_replaced, name, where, put),
    )
    for label, (name, where) in _PLACES.items()
    for kind, (words, put) in _INSTEAD.items()
}
FILES |= {
    f"good/link-at-{label}": (
        f"{name} is a symbolic link to what is there otherwise; readers follow it.",
        partial(_linked, name),
    )
    for label, name in {
        "manifest": "manifest.json",
        "metadata": "metadata.arrow",
        "shard": "fields/rag/00001.shard",
        "dictionary": "fields/tokens/dictionary.bin",
        "field": "fields/rag",
        "fields": "fields",
    }.items()
}
FILES["bad/R000-nothing-at-the-path"] = ("Nothing lies at the path of the cache.", _elsewhere)
FILES["bad/R000-path-a-file"] = ("The path of the cache is that of a file.", _no_directory)
"""By name what a vector is, and what makes it; FIFOs, sockets and links need a platform that has them."""
