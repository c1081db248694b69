"""Text as tokens: blocks of one length, as language models are trained on, and records of 16 to 512."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmarks.content import tokens
from benchmarks.workload import Workload

BLOCKS = Workload(
    "blocks", "blocks of 2,048 tokens, uint16", "uint16", 60_000, 64, shape=(2048,), content=tokens
)


def _lengths(rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    return rng.integers(16, 513, (count, 1))


PACKED = Workload(
    "tokens",
    "16 to 512 tokens, uint16, as a packed batch",
    "uint16",
    200_000,
    256,
    draw_shapes=_lengths,
    content=tokens,
)
LIST = replace(PACKED, name="tokens-list", title="16 to 512 tokens, uint16, as a list of arrays", form="list")
ZSTD = replace(PACKED, name="tokens-zstd", codec="zstd")
ZSTD_DICT = replace(PACKED, name="tokens-zstd-dict", codec="zstd-dict")
