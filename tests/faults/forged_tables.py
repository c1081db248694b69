"""Forged metadata: numbers, offsets and bytes of an Arrow file that no library writes, well digested."""

from __future__ import annotations

import struct
from random import Random

from tests.faults.forged_numbers import NUMBERS, Done
from tests.rules.forge import Cache


def table(random: Random, cache: Cache) -> Done | None:
    """metadata.arrow with other bytes: numbers of its messages and footer, views, bitmaps."""
    if cache.metadata is None:
        return None
    data = bytearray(cache.metadata)
    way = random.choice(["number", "number", "number", "flip", "flip", "cut", "cut out", "doubled", "offset"])
    at = random.choice([random.randrange(len(data)), _near_end(random, data)])
    if way == "number":
        width, code = random.choice([(8, "<Q"), (4, "<I"), (2, "<H")])
        at = min(at // width * width, len(data) - width)
        number = random.choice(NUMBERS) % 2 ** (8 * width)
        data[at : at + width] = struct.pack(code, number)
        what = f"{number} at {at}"
    elif way == "offset":
        at = min(at // 4 * 4, len(data) - 4)
        old = int.from_bytes(data[at : at + 4], "little")
        data[at : at + 4] = struct.pack("<I", (old + random.choice([-8, -4, -1, 1, 4, 8, 64])) % 2**32)
        what = f"{old} at {at} changed"
    elif way == "flip":
        places = [random.randrange(len(data)) for _ in range(random.choice([1, 1, 2, 5]))]
        for place in places:
            data[place] ^= 1 << random.randrange(8)
        what = f"flips at {places}"
    elif way == "cut":
        del data[random.choice([0, 1, 8, 16, len(data) - 1, random.randrange(len(data))]) :]
        what = f"cut to {len(data)}"
    elif way == "cut out":
        length = random.choice([1, 8, 64])
        del data[at : at + length]
        what = f"{length} bytes at {at} cut out"
    else:
        length = random.choice([8, 64])
        data[at:at] = data[at : at + length]
        what = f"{length} bytes at {at} doubled"
    cache.metadata = bytes(data)
    return f"table: {way}", "metadata", [what]


def _near_end(random: Random, data: bytearray) -> int:
    """A place in the footer or just before it."""
    return max(0, len(data) - 1 - random.randrange(600))
