"""What the machine does for plain C: limits.c, compiled where it runs, and each libzstd that is there.

It is told where records lie in a file, and copies or decodes them into a buffer that is used again and again,
in huge pages where the machine grants them; the first cache lines of the records that follow are asked for
ahead. A yardstick and no limit: what has more under way in memory, on one thread or on more, can do more.
"""

import ctypes
import ctypes.util
import mmap
import platform
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.compiled import NoCompiler, compiled

_SOURCE = Path(__file__).with_name("limits.c")

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64

BROUGHT, OWN = "libzstd of python-zstandard", "libzstd of the system"
LIBZSTD = BROUGHT, OWN
"""Which is faster depends on their versions, and on whether they were built with their assembly."""


class NoLimits(Exception):
    """The machine cannot be asked; the words say why."""


class _Records(ctypes.Structure):
    _fields_ = (
        ("file", _POINTER),
        ("starts", _POINTER),
        ("sizes", _POINTER),
        ("lengths", _POINTER),
        ("item", _INT64),
    )


def _place(array: npt.NDArray[Any]) -> int:
    place: int = array.__array_interface__["data"][0]
    return place


class Records:
    """Where records lie in a file, all in bytes; `lengths` is what they are long when decoded.

    Args:
        file: Bytes of the file, mapped.
        starts: int64[records].
        sizes: int64[records].
        lengths: int64[records]; the same as `sizes` where nothing is decoded.
        item: Bytes of an element.
    """

    def __init__(
        self,
        file: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        item: int,
    ) -> None:
        self.arrays = file, starts, sizes, lengths
        self.longest = int(lengths.max())
        self.structure = _Records(_place(file), _place(starts), _place(sizes), _place(lengths), item)

    def copy(self, numbers: npt.NDArray[np.int64], to: "Pages", *, bypass: bool) -> None:
        """Copy records into a buffer; with `bypass` by stores that bypass the caches, else by memcpy."""
        _library().copy(self.structure, _place(numbers), len(numbers), *to.places, bypass)

    def decode(self, numbers: npt.NDArray[np.int64], to: "Pages", decoder: "Decoder") -> None:
        """Decode them likewise.

        Raises:
            ValueError: A record is no frame of its length.
        """
        wrong = _library().decode(
            self.structure, _place(numbers), len(numbers), *to.places, *decoder.arguments
        )
        if wrong >= 0:
            raise ValueError(f"record {numbers[wrong]} is no zstd frame of its length")


class Pages:
    """Room for so many records, used again and again; the pages were touched, and are huge where they can be.

    Attributes:
        bytes: uint8[...], records one after another.
        ends: int64[count + 1], 0 and where each record ends, in elements.
    """

    def __init__(self, records: Records, count: int) -> None:
        mapped = mmap.mmap(-1, max(records.longest * count, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            mapped.madvise(mmap.MADV_HUGEPAGE)
        self.bytes = np.frombuffer(mapped, np.uint8)
        self.bytes[:] = 0
        self.ends = np.zeros(count + 1, np.int64)
        self.places = _place(self.bytes), _place(self.ends)


class Decoder:
    """A context of one of `LIBZSTD`, of one thread, with its dictionary prepared once."""

    def __init__(self, which: str, dictionary: bytes | None) -> None:
        library = libzstd(which)
        prepared = library.ZSTD_createDDict(dictionary, len(dictionary)) if dictionary else None
        function = ctypes.cast(library.ZSTD_decompress_usingDDict, _POINTER)
        self.arguments = function, library.ZSTD_createDCtx(), prepared


@cache
def libzstd(which: str) -> Any:
    """One of `LIBZSTD`.

    Raises:
        NoLimits: It is not there.
    """
    for path in _brought() if which == BROUGHT else [ctypes.util.find_library("zstd")]:
        try:
            library = ctypes.CDLL(path) if path else None
            if library and library.ZSTD_decompress_usingDDict:
                library.ZSTD_createDCtx.restype = _POINTER
                library.ZSTD_createDDict.restype = _POINTER
                library.ZSTD_createDDict.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
                library.ZSTD_versionString.restype = ctypes.c_char_p
                return library
        except (OSError, AttributeError):
            continue
    raise NoLimits(f"no {which} with a C interface")


def _brought() -> list[str]:
    # Its module for cffi shows all of libzstd, and is not imported here: it is a library like any other.
    spec = find_spec("zstandard")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return [str(file) for folder in folders for file in Path(folder).glob("_cffi*.so")]


def version(which: str) -> str:
    """Of one of `LIBZSTD`.

    Raises:
        NoLimits: It is not there.
    """
    found: bytes = libzstd(which).ZSTD_versionString()
    return found.decode()


def streaming() -> str:
    """The instructions whose stores bypass the caches; without them, `copy` never does.

    Raises:
        NoLimits: There are none here.
    """
    name: str = _library().streaming().decode()
    if not name:
        raise NoLimits(f"no stores known that bypass the caches of {platform.machine()}")
    return name


@cache
def _library() -> Any:
    try:
        path = compiled(_SOURCE)
    except NoCompiler as reason:
        raise NoLimits(str(reason)) from reason
    library = ctypes.CDLL(str(path))
    library.streaming.restype = ctypes.c_char_p
    places: list[Any] = [ctypes.POINTER(_Records), _POINTER, _INT64, _POINTER, _POINTER]
    library.copy.argtypes = [*places, ctypes.c_int]
    library.copy.restype = None
    library.decode.argtypes = [*places, _POINTER, _POINTER, _POINTER]
    library.decode.restype = _INT64
    return library
