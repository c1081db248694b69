"""Noise: what no codec makes smaller."""

from pathlib import Path

import numpy as np

BYTES, SEED = 1 << 26, 1


def recipe() -> list[object]:
    """What the result follows from."""
    return [BYTES, SEED]


def make(folder: Path) -> str:
    """Write uint8[BYTES], and return what it is."""
    np.save(folder / "noise.npy", np.frombuffer(np.random.default_rng(SEED).bytes(BYTES), np.uint8))
    return f"{BYTES >> 20} MiB of NumPy's PCG64, seed {SEED}"
