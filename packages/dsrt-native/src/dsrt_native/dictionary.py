"""Dictionaries for small records that resemble each other."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dsrt_native import _native
from dsrt_native.arguments import whole

__all__ = ["train_dictionary"]

_SAMPLE_BYTES = 100
"""So many bytes of records are looked at for each byte of the dictionary, as zstd recommends."""


def train_dictionary(records: Iterable[Any], size: int = 65536) -> bytes:
    """Train a dictionary for zstd on records that resemble those to come.

    It pays for records of less than a few KiB. Parts that will be merged are given one dictionary::

        dictionary = train_dictionary(captions)
        fields = {"caption": Text(codec=Zstd(dictionary=dictionary))}

    A cache that is not merged needs no call of this: ``Zstd(dictionary="train")`` trains on its own first
    samples.

    For a field with `delta`, zstd sees the differences and not the values, so `records` are then to be the
    filtered bytes, as `dsrt_format.codecs.delta_encode` makes them; ``dictionary="train"`` sees to that.

    The algorithm is fastCover of zstd's ``ZDICT_trainFromBuffer`` with its default parameters. Equal records
    give an equal dictionary.

    While zstd trains, nothing can interrupt it, Ctrl-C included: some seconds for 64 KiB, and longer in
    proportion to `size`.

    Args:
        records: Bytes-like objects or NumPy arrays of any shape and dtype, whose bytes in C order are taken;
            a str is to be encoded. No more are drawn once there are 100 x `size` bytes; training needs that
            much memory twice.
        size: The greatest length of the dictionary in bytes, 256 to 2^20.

    Returns:
        The body of the dictionary; shorter than `size` where the records do not fill it.

    Raises:
        SchemaError: The records are too few or too small; zstd without a dictionary is the better choice.
        TypeError: A record of another type.
        ValueError: `size` out of range.
    """
    size = whole("size", size, 256, 2**20)
    room = _SAMPLE_BYTES * size
    taken: list[bytes] = []
    for number, record in enumerate(records):
        taken.append(_bytes(record, number)[:room])
        room -= len(taken[-1])
        if room == 0:
            break
    return _native.train_dictionary(taken, size)


def _bytes(record: Any, number: int) -> bytes:
    if isinstance(record, np.ndarray | np.generic):
        dtype = record.dtype
        if isinstance(record, np.ma.MaskedArray) or dtype.hasobject or not dtype.isnative:
            raise TypeError(f"record {number}: expected an array as a field takes it, not {record!r:.100}")
        return record.tobytes()
    try:
        return memoryview(record).tobytes()
    except TypeError:
        hint = "; call .encode() first" if isinstance(record, str) else ""
        kind = type(record).__name__
        raise TypeError(f"record {number}: expected bytes or a NumPy array, not {kind}{hint}") from None
