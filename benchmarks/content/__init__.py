"""What samples are made of: photographs, tokenised text and noise, prepared once and kept beside the results.

`prepared` makes what is not there yet, without a network, and gives its digests for the report. Photographs
and text come out of installed packages, so that two machines have the same data if they have the same
versions of these packages; whether they have is what the digests tell. Only the process that prepares them
needs these packages.
"""

import json
import os
import shutil
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.content import photographs, random, text
from benchmarks.content.cut import Content, Crops, Slices

__all__ = ["Content", "Crops", "Slices", "noise", "photos", "prepared", "tokens"]

FOLDER = Path(__file__).parents[1] / "results"
_PARTS: dict[str, Any] = {"photographs": photographs, "tokens": text, "noise": random}
_PREPARED, _DIGEST = "content.json", "digest.json"


def prepared() -> dict[str, str]:
    """Make what is not there yet, half a minute's work, and return what there is, with its BLAKE3 digest.

    Raises:
        ValueError: What was kept is no longer what was made.
    """
    found = {}
    folders = {name: _made(name, part) for name, part in _PARTS.items()}
    for name, folder in folders.items():
        kept = json.loads((folder / _DIGEST).read_text())
        if (digest := _digest(folder)) != kept["digest"]:
            raise ValueError(f"{folder} was changed since it was made ({digest}): delete it")
        found[name] = f"{kept['what']}; blake3 {digest}"
    # What other processes use, also those whose environment has other versions of everything.
    pointer = FOLDER / f".{_PREPARED}-{os.getpid()}"
    pointer.write_text(json.dumps({name: folder.name for name, folder in folders.items()}))
    os.replace(pointer, FOLDER / _PREPARED)
    return found


@cache
def photos() -> Content:
    """Crops of the photographs in scikit-image's wheel, uint8 RGB."""
    folder = _folder("photographs")
    return Crops([_mapped(file) for file in sorted(folder.glob("*.npy"))])


@cache
def tokens() -> Content:
    """Text as uint16, tokenised by byte pairs."""
    return Slices(_mapped(_folder("tokens") / "tokens.npy").view(np.uint8), 2)


@cache
def noise(size: int = random.BYTES) -> Content:
    """Incompressible; out of the first `size` bytes."""
    return Slices(_mapped(_folder("noise") / "noise.npy")[:size], 1)


def _mapped(file: Path) -> npt.NDArray[Any]:
    # A plain array, which is sliced much faster than a np.memmap.
    return np.asarray(np.load(file, mmap_mode="r"))


def _folder(name: str) -> Path:
    if not (FOLDER / _PREPARED).exists():
        # Outside of a run, what is asked for and no more.
        return _made(name, _PARTS[name])
    folder: str = json.loads((FOLDER / _PREPARED).read_text())[name]
    return FOLDER / folder


def _made(name: str, part: Any) -> Path:
    key = sha256(json.dumps([*part.recipe(), np.__version__]).encode()).hexdigest()[:16]
    folder = FOLDER / f"content-{name}-{key}"
    if folder.is_dir():
        return folder
    FOLDER.mkdir(exist_ok=True)
    building = Path(mkdtemp(prefix=f".{folder.name}-", dir=FOLDER))
    try:
        what = part.make(building)
        (building / _DIGEST).write_text(json.dumps({"what": what, "digest": _digest(building)}))
        os.replace(building, folder)
    except BaseException as error:
        shutil.rmtree(building)
        # Another process was faster: what it made is the same.
        if not (isinstance(error, OSError) and folder.is_dir()):
            raise
    return folder


def _digest(folder: Path) -> str:
    from blake3 import blake3

    # Of values and not of files: how an array is stored is NumPy's affair.
    digest = blake3()
    for file in sorted(folder.glob("*.npy")):
        array = np.load(file, mmap_mode="r")
        digest.update(f"{file.stem} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
