"""R042: what a reader must know of an Arrow file before it lets a library see it."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from .arrow_columns import INT, SECOND, TIMESTAMP, TYPES, Column, Packed, Type
from .arrow_file import MAGIC, V4, ArrowFile, Batch
from .case import Break, Table
from .cases_rows import ROWS, meta
from .cases_schema import batch, columns, footer
from .flatbuffer import Structs, i16, i32, u8
from .flatbuffer import Table as Flat
from .forge import Cache
from .recorded import recorded

TABLE = Table("metadata")
NULL, SHORT, LONG, EMPTY, ACCENTS = 1, 0, 2, 3, 4  # what stands in each row of the columns of strings


def add(name: str, edit: Callable[[ArrowFile], object], column: str | None = "int64") -> None:
    TABLE.add("R042", name, meta(edit), column=column)


# The file.
def file(edit: Callable[[bytearray], bytes | bytearray]) -> Callable[[ArrowFile], None]:
    return lambda found: setattr(found, "edit_file", edit)


def raw(content: Callable[[Cache], bytes]) -> Break:
    def change(cache: Cache) -> None:
        cache.metadata = content(cache)

    return change


def put(place: int, code: str, value: int | Callable[[int], int]) -> Callable[[bytearray], bytearray]:
    """Overwrites a number, counted from the file's end where `place` is negative."""

    def change(content: bytearray) -> bytearray:
        at = place % len(content)
        found = struct.unpack_from("<" + code, content, at)[0]
        struct.pack_into("<" + code, content, at, value(found) if callable(value) else value)
        return content

    return change


def write_stream() -> bytes:
    out = io.BytesIO()
    rows = pa.table({"n": list(range(ROWS))})
    with pa.ipc.new_stream(out, rows.schema) as writer:
        writer.write_table(rows)
    return out.getvalue()


def stream(cache: Cache) -> bytes:
    return recorded("arrow stream", [], write_stream)


FOOTER_LENGTH = -10
for name, content in {
    "one byte": lambda cache: b"A",
    "the magic alone": lambda cache: MAGIC,
    "the magic twice": lambda cache: MAGIC + bytes(6) + MAGIC,
    "garbage": lambda cache: b"\xa5" * 1000,
    "zeros": lambda cache: bytes(1000),
    "cut at the end": lambda cache: cache.metadata[:-10],
    "cut in the middle": lambda cache: cache.metadata[:1000],
    "beginning cut off": lambda cache: cache.metadata[8:],
    "a byte more at the end": lambda cache: cache.metadata + b"\0",
    "a stream": stream,
}.items():
    TABLE.add("R042", name, raw(content), column="int64")
for name, change in {
    "magic at the start": lambda content: b"ARROW2" + content[6:],
    "magic at the end": lambda content: content[:-6] + b"ARROW2",
    "footer length 0": put(FOOTER_LENGTH, "i", 0),
    "footer length negative": put(FOOTER_LENGTH, "i", -100),
    "footer length 2^31 - 1": put(FOOTER_LENGTH, "i", 2**31 - 1),
    "footer length 8 more": put(FOOTER_LENGTH, "i", lambda length: length + 8),
    "footer length too short": put(FOOTER_LENGTH, "i", 8),
}.items():
    add(name, file(change))


def footer_at(content: bytearray) -> int:
    return len(content) - 10 - int.from_bytes(content[-10:-6], "little")


def in_footer(value: int) -> Callable[[bytearray], bytearray]:
    """Sets the offset of the footer's root table."""
    return lambda content: put(footer_at(content), "I", value)(content)


def batch_at(content: bytearray) -> int:
    """Where the first batch begins: behind the schema message."""
    return 16 + int.from_bytes(content[12:16], "little")


def in_batch(place: int, code: str, value: int) -> Callable[[bytearray], bytearray]:
    return lambda content: put(batch_at(content) + place, code, value)(content)


def slot_at(content: bytearray, table: int, slot: int) -> int:
    """Where a field of the table at `table` stands."""
    directory = table - int.from_bytes(content[table : table + 4], "little", signed=True)
    return table + int.from_bytes(content[directory + 4 + 2 * slot :][:2], "little")


def followed(content: bytearray, at: int) -> int:
    return at + int.from_bytes(content[at : at + 4], "little")


def to_itself(*slots: int, element: int | None = None) -> Callable[[bytearray], bytearray]:
    """Lets the last of these fields, from the footer's root on, refer to its own place: an empty vector."""

    def change(content: bytearray) -> bytearray:
        table = followed(content, footer_at(content))
        for slot in slots[:-1]:
            table = followed(content, slot_at(content, table, slot))
        if element is not None:
            table = followed(content, table + 4 + 4 * element)
            return put(slot_at(content, table, COLUMN_CHILDREN), "I", 0)(content)
        return put(slot_at(content, table, slots[-1]), "I", 0)(content)

    return change


FOOTER_SCHEMA, FOOTER_DICTIONARIES, SCHEMA_FIELDS, COLUMN_CHILDREN = 1, 2, 1, 5
for name, change in {
    "footer, dictionaries refer to their own place": to_itself(FOOTER_DICTIONARIES),
    "footer, children of a column refer to their own place": to_itself(
        FOOTER_SCHEMA, SCHEMA_FIELDS, COLUMN_CHILDREN, element=0
    ),
}.items():
    add(name, file(change))


# The first message, which libraries pass over because the footer says the same.
def message_column(content: bytearray) -> int:
    """Where the table of the first column begins in the schema message."""
    schema = followed(content, slot_at(content, followed(content, 16), MESSAGE_HEADER))
    return followed(content, followed(content, slot_at(content, schema, SCHEMA_FIELDS)) + 4)


def unterminated(content: bytearray) -> bytearray:
    name = followed(content, slot_at(content, message_column(content), 0))
    content[name + 4 + int.from_bytes(content[name : name + 4], "little")] = 1
    return content


def odd_directory(content: bytearray) -> bytearray:
    """Lets the type of the first column find its directory one byte behind where it is."""
    column = message_column(content)
    kind = followed(content, slot_at(content, column, COLUMN_TYPE))
    directory = kind - int.from_bytes(content[kind : kind + 4], "little", signed=True)
    return put(kind, "i", kind - directory - 1)(content)


MESSAGE_HEADER, COLUMN_TYPE = 2, 3
for name, change in {
    "schema message, a name without its zero": unterminated,
    "schema message, a directory at an odd place": odd_directory,
}.items():
    add(name, file(change))
for name, change in {
    "footer, root behind its end": in_footer(2**31 - 1),
    "footer, root 2^32 - 1": in_footer(2**32 - 1),
    "footer, root 0": in_footer(0),
    "batch, root behind its end": in_batch(8, "I", 2**31 - 1),
    "batch, root 0": in_batch(8, "I", 0),
    "batch, no continuation": in_batch(0, "I", 0),
    "batch, length negative": in_batch(4, "i", -8),
    "batch, length 0": in_batch(4, "i", 0),
    "batch, length 2^31 - 1": in_batch(4, "i", 2**31 - 1),
    "schema message, root behind its end": put(16, "I", 2**31 - 1),
    "schema message, length negative": put(12, "i", -8),
    "schema message, length 2^31 - 1": put(12, "i", 2**31 - 1),
}.items():
    add(name, file(change))
add("footer without a schema", footer(lambda found: setattr(found, "schema", None)))


# Blocks: [offset, bytes of the message, bytes of the body].
def block(place: int, value: int | Callable[[int], int]) -> Callable[[ArrowFile], None]:
    def change(found: Any) -> None:
        row = found.blocks[0]
        row[place] = value(row[place]) if callable(value) else value

    return footer(change)


for name, change in {
    "block behind the file": block(0, 1 << 20),
    "block at 2^62": block(0, 1 << 62),
    "block at 2^63 - 8": block(0, 2**63 - 8),
    "block negative": block(0, -8),
    "block at 0": block(0, 0),
    "block at an odd place": block(0, lambda at: at + 4),
    "block 8 too far": block(0, lambda at: at + 8),
    "block at the schema": block(0, 8),
    "block message of 0": block(1, 0),
    "block message negative": block(1, -8),
    "block message 8 less": block(1, lambda size: size - 8),
    "block message no multiple of 8": block(1, lambda size: size - 4),
    "block message of 2^31 - 8": block(1, 2**31 - 8),
    "block body negative": block(2, -64),
    "block body no multiple of 8": block(2, lambda size: size - 4),
    "block body into the footer": block(2, lambda size: size + 1024),
    "block body of 2^62": block(2, 1 << 62),
    "block body of 2^63 - 8": block(2, 2**63 - 8),
}.items():
    add(name, change)


def later_body(found: ArrowFile) -> None:
    """The footer alone puts the body 8 bytes behind the end of the message: other values, no other fault."""
    found.columns = [found.column("plain")]

    def lengthen(batch: Batch) -> None:
        batch.body_length = len(batch.body)
        batch.body += bytes(8)

    def move(footer: Any) -> None:
        footer.blocks[0][1] += 8
        footer.blocks[0][2] -= 8

    found.edit_batch = lambda batch, number: lengthen(batch)
    found.edit_footer = move


add("block message 8 more, body 8 later", later_body, "plain")


# The batch.
def attribute(name: str, value: object) -> Callable[[ArrowFile], None]:
    return batch(lambda found: setattr(found, name, value))


for name, kind in (
    ("no header", 0),
    ("a schema", 1),
    ("a dictionary", 2),
    ("a tensor", 4),
    ("an unknown", 9),
):
    add(f"batch is {name}", attribute("kind", kind))
add("message's body negative", attribute("body_length", -64))
add("message's body 2^62", attribute("body_length", 1 << 62))
add("message's body 0", attribute("body_length", 0))


def node(column: str, place: int, value: Callable[[int], int]) -> Callable[[ArrowFile], None]:
    """Changes a node: its length (place 0) or its count of nulls (1)."""

    def change(found: Batch) -> None:
        row = found.nodes[found.at[column][0]]
        row[place] = value(row[place])

    return batch(change)


add("a node too few", batch(lambda found: found.nodes.pop()))
add("a node too many", batch(lambda found: found.nodes.append([ROWS, 0])))
add("no nodes", batch(lambda found: found.nodes.clear()))
for of in ("int64", "utf8_view", "bool"):
    add(f"{of}, node a row longer", node(of, 0, lambda rows: rows + 1), of)
    add(f"{of}, node a row shorter", node(of, 0, lambda rows: rows - 1), of)
    add(f"{of}, node of no rows", node(of, 0, lambda rows: 0), of)
    add(f"{of}, node of -1 rows", node(of, 0, lambda rows: -1), of)
    add(f"{of}, node of 2^62 rows", node(of, 0, lambda rows: 1 << 62), of)
    for count in (0, 2, 5, 6, -1, 2**62):
        add(f"{of}, {count} nulls for one", node(of, 1, lambda nulls, count=count: count), None)
add("nulls without a bitmap", node("plain", 1, lambda nulls: 1), None)
add("-1 nulls without a bitmap", node("plain", 1, lambda nulls: -1), None)


def span(column: str, buffer: int, place: int, value: Callable[[int], int]) -> Callable[[ArrowFile], None]:
    """Changes [offset, length] of a buffer."""

    def change(found: Batch) -> None:
        row = found.range_of(column, buffer)
        row[place] = value(row[place])

    return batch(change)


for of, buffer in (
    ("int64", 0),
    ("int64", 1),
    ("bool", 1),
    ("utf8_view", 1),
    ("utf8_view", 2),
    ("weight", 1),
):
    label = f"{of}, buffer {buffer}"
    add(f"{label} behind the body", span(of, buffer, 0, lambda at: 1 << 20), of)
    add(f"{label} at -8", span(of, buffer, 0, lambda at: -8), of)
    add(f"{label} at 2^63 - 8", span(of, buffer, 0, lambda at: 2**63 - 8), of)
    add(f"{label} at an odd place", span(of, buffer, 0, lambda at: at + 4), of)
    add(f"{label}, length -8", span(of, buffer, 1, lambda size: -8), of)
    add(f"{label}, length over the body", span(of, buffer, 1, lambda size: 1 << 20), of)
    add(f"{label}, length 2^63 - 16", span(of, buffer, 1, lambda size: 2**63 - 16), of)
    if (of, buffer) != ("utf8_view", 2):
        add(f"{label}, length 0", span(of, buffer, 1, lambda size: 0), of)
    if buffer == 1:
        add(f"{label}, a byte short", span(of, buffer, 1, lambda size: size - 1), of)
add("views, a row short", span("utf8_view", 1, 1, lambda size: size - 16), "utf8_view")
add("views, no multiple of 16", span("utf8_view", 1, 1, lambda size: size + 8), "utf8_view")
add("data of views too short", span("utf8_view", 2, 1, lambda size: size - 1), "utf8_view")
add("a buffer too few", batch(lambda found: found.ranges.pop()))
add("a buffer too many", batch(lambda found: found.ranges.append([0, 0])))
add("no buffers", batch(lambda found: found.ranges.clear()))
for name, counts in {
    "missing": [],
    "one too few": [1],
    "one too many": [1, 1, 0],
    "first 0": [0, 1],
    "first 2": [2, 1],
    "last 0": [1, 0],
    "last 2": [1, 2],
    "exchanged": [2, 0],
    "negative": [-1, 1],
    "2^62": [1 << 62, 1],
    "2^63 - 1": [2**63 - 1, 2**63 - 1],
}.items():
    add(f"variadic counts {name}", attribute("variadic", counts))


# Values, in the row that is null.
def packed(column: str, edit: Callable[[Packed], object]) -> Callable[[ArrowFile], None]:
    return lambda found: setattr(found, "edit_packed", lambda all_of, number: edit(all_of[column]))


def set_bit(found: Packed) -> None:
    found.buffers[1][0] |= 1 << NULL


for of, kind in TYPES.items():
    size = {"bits": 0, "view": 16}.get(kind.storage) or int(kind.storage[2:] if kind.storage[0] == "<" else 0)
    if kind.storage == "bits":
        add(f"{of}, a bit under the null", packed(of, set_bit), None)
    else:
        beneath = packed(of, lambda found, size=size: found.put(1, "B", size * NULL + size - 1, 1))
        add(f"{of}, a value under the null", beneath, None)
for of in ("utf8_view", "binary_view"):
    add(
        f"{of}, a good short view under the null",
        packed(of, lambda found: found.put(1, "i1s", 16 * NULL, 1, b"a")),
        None,
    )

# Views.
LENGTH, PREFIX, BUFFER, OFFSET = 0, 4, 8, 12
VIEWS: dict[str, tuple[int, int, str, int | bytes]] = {
    "length -1": (LONG, LENGTH, "i", -1),
    "short, length -1": (SHORT, LENGTH, "i", -1),
    "length over the data": (ACCENTS, LENGTH, "i", 1000),
    "length 2^31 - 1": (LONG, LENGTH, "i", 2**31 - 1),
    "short, length 13": (SHORT, LENGTH, "i", 13),
    "buffer 1": (LONG, BUFFER, "i", 1),
    "buffer -1": (LONG, BUFFER, "i", -1),
    "buffer 2^31 - 1": (LONG, BUFFER, "i", 2**31 - 1),
    "offset -1": (LONG, OFFSET, "i", -1),
    "offset a byte too far": (ACCENTS, OFFSET, "i", 28),
    "offset 2^31 - 1": (LONG, OFFSET, "i", 2**31 - 1),
    "prefix of another": (LONG, PREFIX, "B", ord("b")),
    "prefix, last byte": (LONG, PREFIX + 3, "B", ord("T")),
    "short, a byte after the text": (SHORT, PREFIX + 5, "B", 1),
    "short, last byte of the view": (SHORT, 15, "B", 1),
    "empty, a byte after it": (EMPTY, PREFIX, "B", 1),
}
for name, (row, place, code, value) in VIEWS.items():
    for of in ("utf8_view", "binary_view"):
        edit = packed(of, lambda found, at=16 * row + place, c=code, v=value: found.put(1, c, at, v))
        add(f"{of}, {name}", edit, of)


def not_text(found: Packed) -> None:
    found.buffers[2][20] = 0xFF


def cut_letter(found: Packed) -> None:
    """A view that begins inside a letter of two bytes, the prefix with it."""
    data = found.buffers[2]
    start = data.index("é".encode()) + 1
    found.put(1, "i4sii", 16 * ACCENTS, 20, bytes(data[start : start + 4]), 0, start)


def end_in_letter(found: Packed) -> None:
    """A view of 13 bytes over a text whose 13th byte begins a letter."""
    data = found.buffers[2]
    start = data.index("é".encode())
    data[start + 12 : start + 14] = "ö".encode()
    found.put(1, "i", 16 * ACCENTS, 13)


def no_data(found: Packed) -> None:
    found.buffers.pop()


for name, change in {
    "short, not UTF-8": lambda found: found.put(1, "B", PREFIX, 0xFF),
    "short, letter cut": lambda found: found.put(1, "i12s", 0, 2, b"a\xc3"),
    "short, a surrogate": lambda found: found.put(1, "i12s", 0, 3, b"\xed\xa0\x80"),
    "long, not UTF-8": not_text,
    "long, begins inside a letter": cut_letter,
    "long, ends inside a letter": end_in_letter,
    "long, without its buffer": no_data,
}.items():
    add(f"utf8_view, {name}", packed("utf8_view", change), "utf8_view")

# Types and names that Arrow does not have: they, too, are refused as types and names.
ODD = Type(INT, Flat({0: i32(24), 1: u8(1)}), "<i4")
for name, kind in {"int of 24 bits": ODD, "type unknown": Type(99, Flat(), "<i4")}.items():
    TABLE.add("R045", name, meta(columns(Column("odd", kind, [0] * ROWS))), column="odd")
NOT_NAMES = {"not UTF-8": b"a\xff", "a surrogate": b"\xed\xa0\x80"}
for name, content in NOT_NAMES.items():
    edit = columns(Column("odd", TYPES["int8"], [0] * ROWS, raw_name=content))
    TABLE.add("R045", f"name {name}", meta(edit), column="odd")


# Where a file breaks two rules, or one in two places: which comes first is a part of the format.
def together(*edits: Callable[[ArrowFile], object]) -> Callable[[ArrowFile], None]:
    def change(found: ArrowFile) -> None:
        for edit in edits:
            edit(found)

    return change


def odd(kind: Type) -> Callable[[ArrowFile], None]:
    return columns(Column("odd", kind, [0] * ROWS))


def footer_type(content: bytearray) -> int:
    """Where the table of the first column's type begins in the footer."""
    schema = followed(content, slot_at(content, followed(content, footer_at(content)), FOOTER_SCHEMA))
    column = followed(content, followed(content, slot_at(content, schema, SCHEMA_FIELDS)) + 4)
    return followed(content, slot_at(content, column, COLUMN_TYPE))


def sign_outside(content: bytearray) -> bytearray:
    kind = footer_type(content)
    directory = kind - int.from_bytes(content[kind : kind + 4], "little", signed=True)
    return put(directory + 4 + 2 * INT_SIGNED, "H", 60_000)(content)


def zone_unterminated(content: bytearray) -> bytearray:
    zone = followed(content, slot_at(content, footer_type(content), TIMESTAMP_ZONE))
    content[zone + 4 + int.from_bytes(content[zone : zone + 4], "little")] = 1
    return content


def odd_version(content: bytearray) -> bytearray:
    root = followed(content, footer_at(content))
    directory = root - int.from_bytes(content[root : root + 4], "little", signed=True)
    return put(directory + 4, "H", lambda place: place + 1)(content)


INT_SIGNED, TIMESTAMP_ZONE, FOOTER_BLOCKS = 1, 1, 3
IN_BERLIN = Type(TIMESTAMP, Flat({0: i16(SECOND), 1: b"Europe/Berlin"}), "<i8")
V4_FOOTER = footer(lambda found: setattr(found, "version", V4))
ODD_CHILDREN = to_itself(FOOTER_SCHEMA, SCHEMA_FIELDS, COLUMN_CHILDREN, element=0)
add("an int of 24 bits, its sign outside", together(odd(ODD), file(sign_outside)), "odd")
add("a timestamp[s], its zone without a zero", together(odd(IN_BERLIN), file(zone_unterminated)), "odd")
add("footer, its version at an odd place", file(odd_version))
add("footer, blocks at a place for 4 bytes", footer(lambda found: found.behind.update({FOOTER_BLOCKS: 4})))
add(
    "footer, features empty and at a place for 4 bytes",
    footer(lambda found: setattr(found.schema, "features", Structs("q", [], behind=4))),
)
add(
    "a block at an odd place behind a batch of V4",
    together(
        lambda found: setattr(found, "batch_rows", [3, 2]),
        attribute("version", V4),
        footer(lambda found: found.blocks[1].__setitem__(0, found.blocks[1][0] + 4)),
    ),
)
for name, of, edit in (
    ("int of 24 bits, its children refer to their own place", "odd", together(odd(ODD), file(ODD_CHILDREN))),
    (
        "V4 in the footer, its blocks refer to their own place",
        "int64",
        together(V4_FOOTER, file(to_itself(FOOTER_BLOCKS))),
    ),
    (
        "V4 in the footer, the root of the first message behind its end",
        "int64",
        together(V4_FOOTER, file(put(16, "I", 2**31 - 1))),
    ),
    (
        "bodies compressed, and of 0 bytes by their message",
        "int64",
        batch(lambda found: vars(found).update(compression=1, body_length=0)),
    ),
):
    TABLE.add("R045", name, meta(edit), column=of)
TABLE.add(
    "R043",
    "4 rows for 5 samples, and a node too few",
    meta(batch(lambda found: found.nodes.pop()), 4),
    column="int64",
)
