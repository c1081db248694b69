"""The photographs that scikit-image brings in its wheel, decoded once."""

from importlib.metadata import version
from pathlib import Path

import numpy as np

# Those of its pictures that are photographs in colour and need no download.
NAMES = (
    "astronaut",
    "chelsea",
    "coffee",
    "hubble_deep_field",
    "immunohistochemistry",
    "retina",
    "rocket",
    "stereo_motorcycle",
)


def recipe() -> list[object]:
    """What the result follows from; the decoders of JPEG are Pillow's."""
    return [*NAMES, version("scikit-image"), version("pillow")]


def make(folder: Path) -> str:
    """Write each as uint8[height, width, 3], and return what it is."""
    from skimage import data

    for name in NAMES:
        picture = getattr(data, name)()
        # Of the stereoscopic pair, one picture.
        np.save(folder / f"{name}.npy", picture[0] if isinstance(picture, tuple) else picture)
    return f"{len(NAMES)} photographs of scikit-image {version('scikit-image')}"
