"""A sample carries its number in its first eight bytes, so that whatever a loader delivers can be looked up.

The rest of the sample follows from the number, and is compared byte for byte. Of text, the number takes four
tokens of 14 bits, which the vocabulary has: a model can be fed with them.
"""

import numpy as np
import numpy.typing as npt

BYTES = 8
_TOKEN = np.dtype(np.uint16)
_DIGIT = 14
_SHIFTS = np.arange(0, 4 * _DIGIT, _DIGIT)


def stamp(numbers: npt.NDArray[np.int64], dtype: np.dtype[np.generic]) -> npt.NDArray[np.uint8]:
    """What samples of these numbers begin with: uint8[len(numbers), 8]."""
    if dtype == _TOKEN:
        return ((numbers[:, None] >> _SHIFTS) & ((1 << _DIGIT) - 1)).astype("<u2").view(np.uint8)
    return numbers.astype("<i8").view(np.uint8).reshape(-1, BYTES)


def number(sample: npt.NDArray[np.generic]) -> int:
    """The number that a sample claims, or -1 where it is too short for one."""
    head = sample.reshape(-1)[:BYTES].tobytes()[:BYTES]
    if len(head) < BYTES:
        return -1
    if sample.dtype == _TOKEN:
        return int((np.frombuffer(head, "<u2").astype(np.int64) << _SHIFTS).sum())
    return int.from_bytes(head, "little")
