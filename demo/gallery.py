"""The second cache: photographs of their own sizes read as one packed batch, JPEG files, text."""

from pathlib import Path

import numpy as np

from demo import photos
from demo.stage import require, say, table
from dsrt_native import Cache


def read_photos(path: Path) -> None:
    """Read every photograph; end the demo unless pixels and files are the original ones."""
    with Cache.open(path) as cache:
        batch = cache[list(range(len(cache)))]
        files = next(field.files for field in cache.manifest.fields if field.name == "pixels")
    pixels = batch["pixels"]
    say(
        f"\nOne read gives all of them as a packed batch: {pixels.values.size:,} {pixels.values.dtype} "
        f"values in one array, offsets {pixels.offsets.tolist()}, and a shape each.\n"
    )
    shown = table("photograph", "shape", "pixels", "JPEG", "decoded, against the pixels", numbers=(2, 3, 4))
    everything = zip(photos.NAMES, batch["caption"], pixels.to_list(), batch["jpeg"], strict=True)
    for name, caption, read, file in everything:
        original = photos.photo(name)
        require(np.array_equal(read, original), f"the pixels of {name} are not the original's")
        require(file == photos.jpeg(original), f"the JPEG file of {name} is not the one that was stored")
        quality = _psnr(photos.decoded(file), original)
        require(quality > 25, f"the JPEG file of {name} decodes to something else")
        sizes = f"{read.nbytes / 1e6:.2f} MB", f"{len(file) / 1e6:.2f} MB"
        shown.add_row(caption, " x ".join(map(str, read.shape)), *sizes, f"{quality:.1f} dB")
    stored = sum(file.bytes for file in files) / pixels.values.nbytes
    say(
        shown,
        f"\nAll pixels equal the originals; the cache holds them in {stored:.0%} of their size, by zstd "
        "after a difference filter. The JPEG files are byte for byte those that were stored.",
    )


def _psnr(one: photos.Pixels, other: photos.Pixels) -> float:
    """Peak signal to noise ratio in dB, the usual measure of a lossy copy."""
    error = np.mean((one.astype(np.float64) - other) ** 2)
    return float(10 * np.log10(255**2 / error))
