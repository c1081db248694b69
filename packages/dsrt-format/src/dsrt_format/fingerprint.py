"""A digest of whatever identifies the code and the inputs of a cache, to tell whether it must be rebuilt."""

import os
import stat
import struct
from collections.abc import Iterable
from typing import Any

import blake3

__all__ = ["fingerprint"]


def fingerprint(*parts: Any) -> str:
    """Return a digest of values and of files, the same on every machine and in every process.

    Args:
        *parts: None, bool, int, float, str, bytes; tuples and lists (the two are one kind here, as they are
            in JSON) and dicts (their order does not count) of such; and `pathlib.Path`, which stands for the
            file there: its name without the directory, its size and its mtime in nanoseconds. 1, 1.0 and True
            differ, and so do 0.0 and -0.0. A str is a value, never a file.

    Returns:
        64 hex digits: BLAKE3 over an encoding in which no two different lists of parts look alike.

    Raises:
        TypeError: A part of another type, or a directory: list its files, sorted, so that it is clear which
            of them count.
        OSError: A file cannot be looked at.
        ValueError: A str holds a lone surrogate.
    """
    return blake3.blake3(b"DSRTfngr1" + _encoded(parts)).hexdigest()


def _encoded(value: Any) -> bytes:
    # Every value is a tag and its length or count, so encodings concatenate without ambiguity.
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if isinstance(value, int):
        # Hexadecimal, because Python limits the length of decimal numbers.
        return _tagged(b"I", format(int(value), "x").encode())
    if isinstance(value, float):
        return b"D" + struct.pack("<d", value)
    if isinstance(value, str):
        return _tagged(b"S", value.encode())
    if isinstance(value, bytes):
        return _tagged(b"B", value)
    if isinstance(value, tuple | list):
        return _listed(b"L", (_encoded(item) for item in value))
    if isinstance(value, dict):
        pairs = sorted((_encoded(key), _encoded(item)) for key, item in value.items())
        return _listed(b"M", (key + item for key, item in pairs))
    if isinstance(value, os.PathLike):
        return _file(value)
    raise TypeError(
        f"fingerprint: cannot digest {type(value).__module__}.{type(value).__qualname__}; give None, bool, "
        "int, float, str, bytes, tuples, lists and dicts of these, or the Path of a file"
    )


def _file(path: os.PathLike[str]) -> bytes:
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        raise TypeError(
            f"fingerprint: {os.fspath(path)!r} is a directory; list the files that count, for example "
            "sorted(path.rglob('*.png'))"
        )
    name = os.path.basename(os.fspath(path))
    return b"P" + _encoded([os.fsencode(name), found.st_size, found.st_mtime_ns])


def _tagged(tag: bytes, content: bytes) -> bytes:
    return tag + struct.pack("<Q", len(content)) + content


def _listed(tag: bytes, items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return tag + struct.pack("<Q", len(parts)) + b"".join(parts)
