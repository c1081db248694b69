"""A source: photographs from scikit-image's wheel, each of its own size, as pixels and as JPEG files."""

import io
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from skimage import data

from dsrt_format import Bytes, Ragged, Text, fingerprint

Pixels = npt.NDArray[np.uint8]

# Each of these lies in the wheel; the others would be downloaded.
NAMES = ("astronaut", "chelsea", "coffee", "rocket", "hubble_deep_field", "immunohistochemistry", "retina")


def photo(name: str) -> Pixels:
    """One photograph; uint8[height, width, 3]."""
    pixels: Pixels = np.ascontiguousarray(getattr(data, name)(), np.uint8)
    return pixels


def jpeg(pixels: Pixels) -> bytes:
    """A JPEG file of quality 90."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=90)
    return file.getvalue()


def decoded(file: bytes) -> Pixels:
    """The pixels of a JPEG file."""
    return np.asarray(Image.open(io.BytesIO(file)))


class Photos:
    """The photographs; a difference filter before zstd suits pixels, JPEG files are compressed already."""

    name = "photos"
    fields = {
        "pixels": Ragged("uint8", ndim=3, codec="zstd", delta=3),
        "jpeg": Bytes(),
        "caption": Text(),
    }
    metadata = {"width": "int32", "height": "int32"}
    fingerprint = fingerprint("photos", 1, version("scikit-image"), NAMES)

    def __len__(self) -> int:
        return len(NAMES)

    def __getitem__(self, i: int) -> dict[str, Any]:
        pixels = photo(NAMES[i])
        height, width, _ = pixels.shape
        caption = NAMES[i].replace("_", " ")
        return {
            "pixels": pixels,
            "jpeg": jpeg(pixels),
            "caption": caption,
            "width": width,
            "height": height,
        }
