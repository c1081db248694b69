"""One flipped bit in a copy of a cache, and the error that says where it is."""

import random
import shutil
from pathlib import Path

from demo import stage
from dsrt_format import DataError, Manifest
from dsrt_native import Cache

DAMAGED = stage.OUTPUT / "damaged"
HEADER_BYTES = RECORD_BYTES = 64


def flip_and_find(cache: Path) -> None:
    """Damage a copy; end the demo unless the damage is found where it is and nowhere else."""
    copy = DAMAGED / cache.name
    shutil.copytree(cache, copy)
    shard, sample = _flip(copy)
    stage.say("The copy opens, and every other sample reads. This one does not:")
    with Cache.open(copy) as damaged:
        others = [number for number in range(len(damaged)) if number != sample]
        stage.require(len(damaged[others]["image"]) == len(others), "other samples are hurt, too")
        try:
            damaged[sample]
        except DataError as error:
            stage.say(f"\n  dsrt_format.DataError: {error}\n")
            found = (error.cache, error.field, error.shard, error.sample)
            stage.require(
                found == (str(copy), "image", shard, sample), f"the error names another place: {found}"
            )
        else:
            stage.fail("the damaged sample was read as if nothing had happened")
    stage.say("From the command line, for the cache and for its copy:")
    stage.run("dsrt", "verify", cache, copy, expect=1)


def _flip(cache: Path) -> tuple[int, int]:
    """Flip a random bit in the field image; return the shard and the sample where it is."""
    manifest = Manifest.load(cache)
    sample = random.randrange(manifest.num_samples)
    shard, ordinal = 0, sample
    while ordinal >= manifest.shards[shard]:
        ordinal -= manifest.shards[shard]
        shard += 1
    byte, bit = random.randrange(RECORD_BYTES), random.randrange(8)
    file = cache / "fields" / "image" / f"{shard:05d}.shard"
    content = bytearray(file.read_bytes())
    content[HEADER_BYTES + ordinal * RECORD_BYTES + byte] ^= 1 << bit
    file.chmod(0o644)
    file.write_bytes(content)
    stage.say(f"In a copy, bit {bit} of byte {byte} of the image of sample {sample} is flipped: {file}.")
    return shard, sample
