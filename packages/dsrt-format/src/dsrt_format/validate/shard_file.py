"""One shard file through the validator: all of it that a level asks for, in a fixed order of problems."""

from collections.abc import Callable, Iterator

from dsrt_format.checksum import extended_crc
from dsrt_format.codecs import Decoder, check_frame_header
from dsrt_format.directory import CacheFile
from dsrt_format.entries import Field
from dsrt_format.header import HEADER_BYTES
from dsrt_format.rules import Violation
from dsrt_format.shard import ShardReader
from dsrt_format.validate.content import content_of
from dsrt_format.validate.problem import Level

__all__ = ["shard_violations"]

# Ends that go up and down let every record of an index be the whole file: 2^20 times the work it looks like.
_MOST_READ = 16

_FRAME_HEADER_BYTES = 18


def shard_violations(
    file: CacheFile,
    field: Field,
    shard: int,
    count: int,
    decoder: Decoder | None,
    level: Level,
    advance: Callable[[int], None],
) -> Iterator[tuple[int | None, Violation]]:
    """Yield what is wrong with an open shard file: the ordinal, if it is of one record, and the violation.

    Args:
        file: The file.
        field: Its field.
        shard: Its number.
        count: The records in it, at least one.
        decoder: Of the field; None if its dictionary is damaged: then records are proven by checksum alone.
        level: How much is looked at.
        advance: Called with numbers of bytes as they are read, at the level digests twice.

    Raises:
        Violation: R030, the file has become shorter while it was read.
    """
    reader = ShardReader(file, field, shard, count, lambda: decoder or Decoder())
    checks: list[Callable[[], None]] = [reader.check_header, reader.check_index, reader.check_end]
    if level == "digests":
        checks.append(lambda: reader.check_body(advance))
    for check in checks:
        try:
            check()
        except Violation as violation:
            yield None, _unless_shrunk(violation)
    if level == "structure" and reader.is_ordered():
        return
    room = _MOST_READ * (reader.index_start - HEADER_BYTES)
    for ordinal in range(count):
        try:
            low, high = reader.span(ordinal)
            if high - low > room:
                raise Violation(
                    "R032",
                    f"the record is said to be at bytes {low} to {high}, and with those before it has "
                    f"more than {_MOST_READ} times the bytes there are for records; it is not read",
                )
            room -= high - low
            if level != "structure":
                _check_record(file, reader, field, ordinal, decoder is not None)
                advance(high - low)
        except Violation as violation:
            yield ordinal, _unless_shrunk(violation)


def _unless_shrunk(violation: Violation) -> Violation:
    if violation.rule == "R030":
        raise violation
    return violation


def _check_record(
    file: CacheFile, reader: ShardReader, field: Field, ordinal: int, is_decodable: bool
) -> None:
    """Raise the first of R033 to R038 and R052 that a record breaks."""
    low, high = reader.span(ordinal)
    length = high - low
    content, flaw = content_of(field), None
    crc, stored = 0, b""
    # In pieces: a hole in a file can be far larger than the memory.
    for piece in file.pieces(low, length):
        stored = piece
        crc = extended_crc(crc, piece)
        if field.codec == "raw" and flaw is None:
            try:
                content.feed(piece)
            except Violation as violation:
                flaw = violation
    reader.check_crc(ordinal, crc)
    if field.codec == "raw":
        reader.check_raw_length(ordinal, length)
        if flaw is not None:
            raise flaw
        content.end()
    elif is_decodable:
        is_long = length > len(stored)
        size = reader.size(ordinal)
        check_frame_header(file.read(low, _FRAME_HEADER_BYTES) if is_long else stored, size, length)
        content.check(reader.decoded(reader.stored(ordinal) if is_long else stored, size))
