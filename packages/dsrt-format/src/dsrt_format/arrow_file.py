"""metadata.arrow before a library sees it: every offset and count that a library would trust.

Source of the layout: the Arrow columnar format, "Serialization and interprocess communication", version V5.
"""

import struct
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dsrt_format.arrow_schema import read_schema
from dsrt_format.flatbuffer import Table
from dsrt_format.rules import Violation

__all__ = ["BATCH_ROWS", "check_arrow_file", "find_footer", "footer_columns"]

BATCH_ROWS = 262_144

# Bytes per value of the column types that are neither bool nor views nor 8 bytes wide.
_VALUE_BYTES = {
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "date": 4,
}

# The bytes of all strings of a column in a batch, unless the batch itself is larger.
_MOST_TOGETHER = 1 << 31

_MAGIC = b"ARROW1"
_NO_FRAME = "it does not begin and end with ARROW1"
# A block of the footer: offset, bytes of the message, bytes of the body. A node: rows, nulls; a buffer:
# offset, length.
_BLOCK, _PAIR, _COUNT = struct.Struct("<qixxxxq"), struct.Struct("<qq"), struct.Struct("<q")
_CONTINUATION = b"\xff\xff\xff\xff"
_V5 = 4
_SCHEMA, _RECORD_BATCH = 1, 3


@dataclass(frozen=True)
class _Batch:
    """What the header of a batch says, and where its buffers lie."""

    rows: int
    nodes: memoryview
    buffers: memoryview
    data_counts: memoryview
    body: memoryview


def check_arrow_file(data: memoryview, num_samples: int, fields: Container[str]) -> dict[str, str]:
    """Check the file from its footer to the bitmaps, and return the word for each column's type by name.

    The order of the checks is the specification's (docs/spec/reading.md, "Metadata").

    Args:
        data: The whole file.
        num_samples: The number of rows there must be.
        fields: The names of the payload fields.

    Raises:
        Violation: One of R042 to R045.
    """
    footer_start = find_footer(data, len(data))
    if data[:6] != _MAGIC:
        raise _broken(_NO_FRAME)
    first = _description(data[8:footer_start])
    columns, blocks = _read_footer(data[footer_start : len(data) - 10], fields)
    if list(_read_first(first, fields).items()) != list(columns.items()):
        raise Violation("R045", "the first message of metadata.arrow is not the schema that its footer has")
    for block in blocks:
        _check_block(block, footer_start)
    # A small file can have millions of blocks that all show its largest batch: before their buffers are
    # looked at, it is known that there are no more than the rows need.
    rows = [_read_batch(data, block).rows for block in blocks]
    if sum(rows) != num_samples:
        raise Violation("R043", f"metadata has {sum(rows)} rows for {num_samples} samples")
    if any(count != BATCH_ROWS for count in rows[:-1]) or not all(
        1 <= count <= BATCH_ROWS for count in rows[-1:]
    ):
        raise Violation(
            "R044", f"metadata has batches of {rows[:8]}… rows; all but the last have {BATCH_ROWS}"
        )
    for block in blocks:
        _check_buffers(_read_batch(data, block), columns)
    return columns


def find_footer(tail: memoryview, file_bytes: int) -> int:
    """Return where in the file the footer begins.

    Args:
        tail: The end of the file, the last ten bytes of which say so; no more is looked at.
        file_bytes: The length of the whole file.

    Raises:
        Violation: R042.
    """
    end = file_bytes - 10
    if end < 8 or tail[-6:] != _MAGIC:
        raise _broken(_NO_FRAME)
    length = int.from_bytes(tail[-10:-6], "little", signed=True)
    if not 4 <= length <= end - 8:
        raise _broken(f"its footer has {length} bytes")
    return end - length


def footer_columns(footer: memoryview, fields: Container[str]) -> dict[str, str]:
    """Return the word for each column's type by name from the footer alone; the rest may still be broken.

    Raises:
        Violation: R042 or R045.
    """
    return _read_footer(footer, fields)[0]


def _broken(what: str) -> Violation:
    return Violation("R042", f"metadata.arrow is no sound Arrow file: {what}")


def _read_footer(
    description: memoryview, fields: Container[str]
) -> tuple[dict[str, str], list[tuple[int, int, int]]]:
    """Return the columns, and of each block its offset, the length of its message and that of its body."""
    footer = Table.root(description)
    _check_version(footer)
    if footer.structs(2, _BLOCK.size):
        raise Violation("R045", "metadata.arrow holds dictionaries; write plain values")
    schema = footer.table(1)
    if schema is None:
        raise _broken("the footer has no schema")
    columns = read_schema(schema, fields)
    blocks = footer.structs(3, _BLOCK.size)
    if footer.count(4):
        raise Violation("R045", "the footer of metadata.arrow has custom metadata; write it without")
    return columns, [(offset, metadata, body) for offset, metadata, body in _BLOCK.iter_unpack(blocks)]


def _check_version(message: Table) -> None:
    if (version := message.scalar(0, "h", 0)) != _V5:
        raise Violation("R045", f"metadata.arrow has MetadataVersion V{version + 1}, expected V5")


def _description(data: memoryview) -> memoryview:
    """Return the bytes that a message describes itself with: behind a marker and their length."""
    if len(data) < 8 or data[:4] != _CONTINUATION:
        raise _broken("a message does not begin with the continuation marker")
    length = int.from_bytes(data[4:8], "little", signed=True)
    if not 4 <= length <= len(data) - 8:
        raise _broken(f"a message of {length} bytes does not fit")
    return data[8 : 8 + length]


def _header(message: Table, kind: int, other: Violation) -> Table:
    """Return what a message is about, if that is of the kind that it must be."""
    _check_version(message)
    if message.scalar(1, "B", 0) != kind:
        raise other
    header = message.table(2)
    if header is None:
        raise _broken("a message has no content")
    return header


def _check_end(message: Table) -> None:
    if message.count(4):
        raise Violation("R045", "a message of metadata.arrow has custom metadata; write it without")


def _read_first(description: memoryview, fields: Container[str]) -> dict[str, str]:
    """Return the columns that the message at byte 8 has."""
    message = Table.root(description)
    other = Violation("R045", "the first message of metadata.arrow is no schema")
    columns = read_schema(_header(message, _SCHEMA, other), fields)
    _check_end(message)
    return columns


def _check_block(block: tuple[int, int, int], footer_start: int) -> None:
    offset, metadata_bytes, body_bytes = block
    where = f"a batch at {offset} of {metadata_bytes} and {body_bytes} bytes"
    if offset % 8 or metadata_bytes % 8 or body_bytes % 8:
        raise _broken(f"{where} is not aligned")
    if offset < 8 or min(block) < 0 or offset + metadata_bytes + body_bytes > footer_start:
        raise _broken(f"{where} does not lie between the beginning of the file and its footer")


def _read_batch(data: memoryview, block: tuple[int, int, int]) -> _Batch:
    """Read the message that a block leads to."""
    offset, metadata_bytes, body_bytes = block
    description = _description(data[offset : offset + metadata_bytes])
    if len(description) + 8 != metadata_bytes:
        raise _broken(f"a message has {len(description) + 8} bytes, the footer says {metadata_bytes}")
    message = Table.root(description)
    batch = _header(message, _RECORD_BATCH, _broken("a block of the footer is no record batch"))
    if (rows := batch.scalar(0, "q", 0)) < 0:
        raise _broken(f"a batch has {rows} rows")
    nodes, buffers = batch.structs(1, _PAIR.size), batch.structs(2, _PAIR.size)
    if batch.has(3):
        raise Violation("R045", "a batch of metadata.arrow is compressed; write it without compression")
    data_counts = batch.structs(4, _COUNT.size)
    if (found := message.scalar(3, "q", 0)) != body_bytes:
        raise _broken(f"a batch has a body of {found} bytes, the footer says {body_bytes}")
    _check_end(message)
    body_start = offset + metadata_bytes
    return _Batch(rows, nodes, buffers, data_counts, data[body_start : body_start + body_bytes])


def _check_buffers(batch: _Batch, columns: dict[str, str]) -> None:
    """Check the nodes and buffers of a batch, and what of their content a library would trust."""
    rows, nodes = batch.rows, list(_PAIR.iter_unpack(batch.nodes))
    if len(nodes) != len(columns):
        raise _broken(f"a batch has {len(nodes)} nodes for {len(columns)} columns")
    buffers = _buffers(list(_PAIR.iter_unpack(batch.buffers)), batch.body)
    data_counts = (count for (count,) in _COUNT.iter_unpack(batch.data_counts))
    for (name, word), (length, null_count) in zip(columns.items(), nodes, strict=True):
        where = f"in the column {name!r},"
        if length != rows:
            raise _broken(f"{where} a batch of {rows} rows has a node of {length}")
        bitmap, values = next(buffers, None), next(buffers, None)
        if bitmap is None or values is None:
            raise _broken(f"{where} buffers are missing")
        valid = _check_bitmap(bitmap, rows, null_count, where)
        _check_values(values, word, valid, rows, where)
        if word in ("string", "binary"):
            _check_together(values, rows, len(batch.body), where)
            data_buffers = next(data_counts, -1)
            if (
                data_buffers < 0
                or sum(1 for _, _ in zip(range(data_buffers), buffers, strict=False)) != data_buffers
            ):
                raise _broken(f"{where} data buffers are missing")
    if next(buffers, None) is not None or next(data_counts, None) is not None:
        raise _broken("a batch has more buffers than its columns use")


def _buffers(entries: Sequence[tuple[int, int]], body: memoryview) -> Iterator[memoryview]:
    for offset, length in entries:
        if offset < 0 or offset % 8 or length < 0 or offset + length > len(body):
            raise _broken(f"a buffer at {offset} of {length} bytes is not aligned or leaves its batch")
    return (body[offset : offset + length] for offset, length in entries)


def _check_together(views: memoryview, rows: int, body_bytes: int, where: str) -> None:
    """Check that views, which may overlap, do not stand for strings of any length together."""
    lengths = np.frombuffer(views, "<u4", 4 * rows)[::4]
    together, most = int(lengths.sum(dtype=np.uint64)), max(body_bytes, _MOST_TOGETHER)
    if together > most:
        raise _broken(f"{where} the strings of a batch have {together} bytes together, {most} are allowed")


def _check_bitmap(bitmap: memoryview, rows: int, null_count: int, where: str) -> np.ndarray | None:
    """Return which rows are not null as bools, or None if all are."""
    if len(bitmap) == 0:
        if null_count != 0:
            raise _broken(f"{where} {null_count} nulls are announced without a bitmap")
        return None
    if len(bitmap) < -(-rows // 8):
        raise _broken(f"{where} the bitmap has {len(bitmap)} bytes for {rows} rows")
    valid = _bits(bitmap, rows)
    if (found := rows - int(np.count_nonzero(valid))) != null_count:
        raise _broken(f"{where} {null_count} nulls are announced and the bitmap has {found}")
    return valid if null_count else None


def _check_values(values: memoryview, word: str, valid: np.ndarray | None, rows: int, where: str) -> None:
    if word == "bool":
        width, needed = 0, -(-rows // 8)
    else:
        width = 16 if word in ("string", "binary") else _VALUE_BYTES.get(word, 8)
        needed = width * rows
    if len(values) < needed or (width == 16 and len(values) % 16):
        raise _broken(
            f"{where} {len(values)} bytes for {rows} values are too few or no multiple of their size"
        )
    if valid is None:
        return
    if width == 0:
        zero = not (_bits(values, rows) & ~valid).any()
    else:
        zero = not np.frombuffer(values, np.uint8, needed).reshape(rows, width)[~valid].any()
    if not zero:
        raise _broken(f"{where} the bytes under a null are not zero")


def _bits(buffer: memoryview, count: int) -> np.ndarray:
    packed = np.frombuffer(buffer, np.uint8, -(-count // 8))
    return np.unpackbits(packed, count=count, bitorder="little").view(bool)
