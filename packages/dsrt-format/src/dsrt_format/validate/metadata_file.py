"""metadata.arrow through the validator."""

from collections.abc import Callable, Container, Iterator

import numpy as np

from dsrt_format.directory import CacheFile
from dsrt_format.entries import CHUNK_BYTES, MetadataFile
from dsrt_format.metadata import arrow_table, chunk_violation, weight_violations
from dsrt_format.rules import Violation

__all__ = ["metadata_violations"]


def metadata_violations(
    file: CacheFile,
    entry: MetadataFile,
    num_samples: int,
    fields: Container[str],
    advance: Callable[[int], None],
) -> Iterator[Violation]:
    """Yield R041 for every damaged chunk, else what else is wrong with the file (R042 to R046).

    Args:
        file: The file, which is read into memory: a mapped one kills the process if it is cut meanwhile.
        entry: What the manifest says of it.
        num_samples: The number of samples.
        fields: The names of the payload fields.
        advance: Called with numbers of bytes as they are done.

    Raises:
        Violation: R030, the file has become shorter while it was read.
        MemoryError: It is larger than the memory.
    """
    # The system gives pages as they are written to, so that a hole at the end costs nothing beforehand.
    content = np.empty(entry.bytes, np.uint8).data
    is_sound = True
    for chunk in range(len(entry.chunks)):
        start = chunk * CHUNK_BYTES
        piece = file.read(start, min(CHUNK_BYTES, entry.bytes - start))
        if (violation := chunk_violation(piece, entry, chunk)) is not None:
            is_sound = False
            yield violation
        if is_sound:
            content[start : start + len(piece)] = piece
        advance(len(piece))
    if not is_sound:
        return
    try:
        table = arrow_table(content, num_samples, fields)
    except Violation as violation:
        yield violation
        return
    yield from weight_violations(table)
