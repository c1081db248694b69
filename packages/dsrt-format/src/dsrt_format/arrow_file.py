"""metadata.arrow before a library sees it: every offset and count that a library would trust.

Source of the layout: the Arrow columnar format, "Serialization and interprocess communication", version V5.
"""

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

_MAGIC = b"ARROW1"
_CONTINUATION = b"\xff\xff\xff\xff"
_V5 = 4
_SCHEMA, _RECORD_BATCH = 1, 3


@dataclass(frozen=True)
class _Message:
    bytes: int  # with the eight in front of the table
    header: Table
    kind: int
    body_bytes: int


def check_arrow_file(data: memoryview, num_samples: int, fields: Container[str]) -> dict[str, str]:
    """Check the file from its footer to the bitmaps, and return the word for each column's type by name.

    Args:
        data: The whole file.
        num_samples: The number of rows there must be.
        fields: The names of the payload fields.

    Raises:
        Violation: One of R042 to R045.
    """
    footer_start, footer = _footer(data)
    columns, blocks = _read_footer(data, footer, fields)
    rows = []
    for offset, metadata_bytes, body_bytes in blocks:
        where = f"a batch at {offset} of {metadata_bytes} and {body_bytes} bytes"
        if offset % 8 or metadata_bytes % 8 or body_bytes % 8:
            raise _broken(f"{where} is not aligned")
        body_start = offset + metadata_bytes
        if min(offset, metadata_bytes) < 8 or body_bytes < 0 or body_start + body_bytes > footer_start:
            raise _broken(f"{where} does not lie between the beginning of the file and its footer")
        message = _message(data[offset : offset + metadata_bytes])
        if message.bytes != metadata_bytes:
            raise _broken(f"a message has {message.bytes} bytes, the footer says {metadata_bytes}")
        if message.kind != _RECORD_BATCH:
            raise _broken(f"a block of the footer is no record batch but a message of type {message.kind}")
        if message.body_bytes != body_bytes:
            raise _broken(f"a batch has a body of {message.body_bytes} bytes, the footer says {body_bytes}")
        rows.append(count := message.header.scalar(0, "q", 0))
        # Batches too many or too long, which R043 or R044 refuses below, are counted and not looked through:
        # a small file can have millions of blocks that all show its largest batch.
        if len(rows) <= -(-num_samples // BATCH_ROWS) and count <= BATCH_ROWS:
            _check_batch(message.header, data[body_start : body_start + body_bytes], columns)
    if sum(rows) != num_samples:
        raise Violation("R043", f"metadata has {sum(rows)} rows for {num_samples} samples")
    if any(count != BATCH_ROWS for count in rows[:-1]) or not all(
        1 <= count <= BATCH_ROWS for count in rows[-1:]
    ):
        raise Violation(
            "R044", f"metadata has batches of {rows[:8]}… rows; all but the last have {BATCH_ROWS}"
        )
    return columns


def find_footer(data: memoryview) -> int:
    """Return where the footer begins, as the last ten bytes of the file have it.

    Raises:
        Violation: R042.
    """
    return _footer(data)[0]


def footer_columns(data: memoryview, fields: Container[str]) -> dict[str, str]:
    """Return the word for each column's type by name from the footer alone; the rest may still be broken.

    Raises:
        Violation: R042 or R045.
    """
    schema = _footer(data)[1].table(1)
    if schema is None:
        raise _broken("the footer has no schema")
    return read_schema(schema, fields)


def _broken(what: str) -> Violation:
    return Violation("R042", f"metadata.arrow is no sound Arrow file: {what}")


def _footer(data: memoryview) -> tuple[int, Table]:
    end = len(data) - 10
    if end < 16 or data[:6] != _MAGIC or data[-6:] != _MAGIC:
        raise _broken("it does not begin and end with ARROW1")
    length = int.from_bytes(data[end : end + 4], "little", signed=True)
    if not 4 <= length <= end - 8:
        raise _broken(f"its footer has {length} bytes")
    return end - length, Table.root(data[end - length : end])


def _read_footer(
    data: memoryview, footer: Table, fields: Container[str]
) -> tuple[dict[str, str], list[tuple[int, int, int]]]:
    _check_version(footer)
    if footer.count(4):
        raise Violation("R045", "the footer of metadata.arrow has custom metadata; write it without")
    if footer.structs(2, "qixxxxq"):
        raise Violation("R045", "metadata.arrow holds dictionaries; write plain values")
    schema = footer.table(1)
    if schema is None:
        raise _broken("the footer has no schema")
    columns = read_schema(schema, fields)
    first = _message(data[8:])
    if first.kind != _SCHEMA or list(read_schema(first.header, fields).items()) != list(columns.items()):
        raise Violation("R045", "the first message of metadata.arrow is not the schema that its footer has")
    return columns, [(offset, metadata, body) for offset, metadata, body in footer.structs(3, "qixxxxq")]


def _check_version(message: Table) -> None:
    if (version := message.scalar(0, "h", 0)) != _V5:
        raise Violation("R045", f"metadata.arrow has MetadataVersion V{version + 1}, expected V5")


def _message(data: memoryview) -> _Message:
    """Read the message at the start of `data`: a marker, a length, a table, padding."""
    if len(data) < 8 or data[:4] != _CONTINUATION:
        raise _broken("a message does not begin with the continuation marker")
    length = int.from_bytes(data[4:8], "little", signed=True)
    if not 4 <= length <= len(data) - 8:
        raise _broken(f"a message of {length} bytes does not fit")
    table = Table.root(data[8 : 8 + length])
    _check_version(table)
    if table.count(4):
        raise Violation("R045", "a message of metadata.arrow has custom metadata; write it without")
    header = table.table(2)
    if header is None:
        raise _broken("a message has no content")
    return _Message(8 + length, header, table.scalar(1, "B", 0), table.scalar(3, "q", 0))


def _check_batch(batch: Table, body: memoryview, columns: dict[str, str]) -> None:
    """Check a batch against its body."""
    if batch.table(3) is not None:
        raise Violation("R045", "a batch of metadata.arrow is compressed; write it without compression")
    rows, nodes = batch.scalar(0, "q", 0), batch.structs(1, "qq")
    if rows < 0 or len(nodes) != len(columns):
        raise _broken(f"a batch of {rows} rows has {len(nodes)} nodes for {len(columns)} columns")
    buffers = _buffers(batch.structs(2, "qq"), body)
    data_counts = iter(count for (count,) in batch.structs(4, "q"))
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
