"""What the machine can do at most, in C: limits.c, compiled where it runs, and the libzstd that is there.

It is told where records lie in a file, and copies or decodes them into a buffer that is used again and again,
in huge pages where the machine grants them. No system can do more with as many threads.
"""

import ctypes
import ctypes.util
import mmap
import os
import platform
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import numpy.typing as npt

FOLDER = Path(__file__).parent / "results"
_SOURCE = Path(__file__).with_name("limits.c")
_FLAGS = ["-O3", "-march=native", "-shared", "-fPIC"]

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64


class NoLimits(Exception):
    """The machine cannot be asked; the words say why."""


class Pages:
    """A buffer of `size` bytes that was touched already, in huge pages if they can be had."""

    def __init__(self, size: int) -> None:
        mapped = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            mapped.madvise(mmap.MADV_HUGEPAGE)
        self.bytes = np.frombuffer(mapped, np.uint8)
        self.bytes[:] = 0


class Records:
    """Where records lie in a file, all in bytes; `lengths` is what they are long when decoded.

    Args:
        file: Bytes of the file, mapped.
        starts: int64[records].
        sizes: int64[records].
        lengths: int64[records]; the same as `sizes` where nothing is decoded.
        dictionary: The one that zstd frames were made with, if any.
    """

    def __init__(
        self,
        file: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        dictionary: bytes | None = None,
    ) -> None:
        self.file, self.starts, self.sizes, self.lengths = file, starts, sizes, lengths
        self.dictionary = dictionary

    def room(self, batch: int) -> int:
        """Bytes that hold any so many records."""
        return int(self.lengths.max()) * batch

    def copy(self, numbers: npt.NDArray[np.int64], batch: int, to: Pages, *, bypass: bool) -> None:
        """Copy records into a buffer, and begin there again after each `batch` of them.

        With `bypass`, by stores that bypass the caches; else by memcpy.
        """
        starts, sizes = self.starts[numbers], self.sizes[numbers]
        places = (array.ctypes.data for array in (to.bytes, self.file, starts, sizes))
        _library().copy(*places, len(numbers), batch, bypass)

    def decode(self, numbers: npt.NDArray[np.int64], batch: int, to: Pages, decoder: "Decoder") -> None:
        """Decode them likewise.

        Raises:
            ValueError: A record is no frame of its length.
        """
        starts, sizes, lengths = self.starts[numbers], self.sizes[numbers], self.lengths[numbers]
        places = (array.ctypes.data for array in (to.bytes, self.file, starts, sizes, lengths))
        using = decoder.function, decoder.context, decoder.dictionary
        wrong = _library().decode(*places, len(numbers), batch, *using)
        if wrong >= 0:
            raise ValueError(f"record {numbers[wrong]} is no zstd frame of {lengths[wrong]} bytes")


class Decoder:
    """A context of libzstd, of one thread, with its dictionary prepared once."""

    def __init__(self, dictionary: bytes | None) -> None:
        library = libzstd()
        self.function = ctypes.cast(library.ZSTD_decompress_usingDDict, _POINTER)
        self.context = library.ZSTD_createDCtx()
        self.dictionary = library.ZSTD_createDDict(dictionary, len(dictionary)) if dictionary else None


@cache
def libzstd() -> Any:
    """The one that python-zstandard brings, else the system's.

    Raises:
        NoLimits: There is none.
    """
    spec = find_spec("zstandard")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    # Its module for cffi shows all of libzstd, and is not imported here: it is a library like any other.
    brought = [str(file) for folder in folders for file in Path(folder).glob("_cffi*.so")]
    for name in [*brought, ctypes.util.find_library("zstd")]:
        try:
            library = ctypes.CDLL(name) if name else None
            if library and library.ZSTD_decompress_usingDDict:
                library.ZSTD_createDCtx.restype = _POINTER
                library.ZSTD_createDDict.restype = _POINTER
                library.ZSTD_createDDict.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
                library.ZSTD_versionString.restype = ctypes.c_char_p
                return library
        except (OSError, AttributeError):
            continue
    raise NoLimits("no libzstd with a C interface")


def streaming() -> str:
    """The instructions whose stores bypass the caches.

    Raises:
        NoLimits: There are none here.
    """
    name: str = _library().streaming().decode()
    if not name:
        raise NoLimits(f"no stores known that bypass the caches of {platform.machine()}")
    return name


@cache
def _library() -> Any:
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoLimits("no C compiler: cc")
    source = _SOURCE.read_bytes()
    key = sha256(source + "\0".join([compiler, *_FLAGS, _processor()]).encode()).hexdigest()[:16]
    path = FOLDER / f"limits-{key}.so"
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        building = Path(mkdtemp(prefix=".limits-", dir=FOLDER))
        try:
            built = building / "limits.so"
            command = [compiler, *_FLAGS, "-o", str(built), str(_SOURCE)]
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise NoLimits(f"cc: {done.stderr.strip().splitlines()[-1]}")
            os.replace(built, path)
        finally:
            shutil.rmtree(building)
    library = ctypes.CDLL(str(path))
    library.streaming.restype = ctypes.c_char_p
    library.copy.argtypes = [*[_POINTER] * 4, _INT64, _INT64, ctypes.c_int]
    library.copy.restype = None
    library.decode.argtypes = [*[_POINTER] * 5, _INT64, _INT64, *[_POINTER] * 3]
    library.decode.restype = _INT64
    return library


def _processor() -> str:
    # A folder of results may move to another machine; what was compiled for this one must not.
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
