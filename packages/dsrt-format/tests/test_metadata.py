import datetime
import json
import struct

import numpy as np
import pyarrow as pa
import pytest
from blake3 import blake3

from dsrt_format import Bytes, DataError, SchemaError, reference, validate
from dsrt_format.arrow_file import BATCH_ROWS
from dsrt_format.column_values import stored_value
from dsrt_format.columns import COLUMN_TYPES
from dsrt_format.flatbuffer import Table
from dsrt_format.metadata import MetadataWriter, arrow_table, chunk_violation, read_table
from dsrt_format.rules import Violation

UTC = datetime.UTC
INT = 2**63 - 1
EXTREMES = {
    "bool": [True, False],
    "int8": [-128, 127],
    "int16": [-(2**15), 2**15 - 1],
    "int32": [-(2**31), 2**31 - 1],
    "int64": [-(2**63), 2**63 - 1],
    "uint8": [0, 255],
    "uint16": [0, 2**16 - 1],
    "uint32": [0, 2**32 - 1],
    "uint64": [0, 2**64 - 1],
    "float32": [0.0, -0.0, 2.0**-149, 3.4028234663852886e38, float("inf"), float("-inf"), float("nan"), 0.5],
    "float64": [0.1, -0.0, 5e-324, 1.7976931348623157e308, float("inf"), float("nan")],
    "string": ["", "\0", "exactly 12 b", "13 bytes long", "ü" * 6, "😀" * 9, "x" * 100_000],
    "binary": [b"", b"\0" * 12, b"\xff" * 13, b"\xfe" * 100_000],
    "date": [np.datetime64(-(2**31), "D"), np.datetime64(2**31 - 1, "D")],
}
for unit in "ms", "us", "ns":
    EXTREMES[f"timestamp[{unit}]"] = [
        np.datetime64(-INT, unit),
        np.datetime64(0, unit),
        np.datetime64(INT, unit),
    ]
    EXTREMES[f"timestamp[{unit}, UTC]"] = EXTREMES[f"timestamp[{unit}]"]
    EXTREMES[f"duration[{unit}]"] = [np.timedelta64(-INT, unit), np.timedelta64(INT, unit)]


WEST = datetime.timezone(-datetime.timedelta(hours=5))
EAST = datetime.timezone(datetime.timedelta(hours=2))


class Longer(datetime.timedelta):
    """A timedelta with nanoseconds, as pandas has it."""

    nanoseconds = 7


class Finer(datetime.datetime):
    """A datetime with nanoseconds, as pandas has it."""

    def __sub__(self, other):
        difference = super().__sub__(other)
        return Longer(difference.days, difference.seconds, difference.microseconds)


class NotATime(datetime.datetime):
    """As pandas' NaT: of this class, whatever column it is for, and not equal to itself."""

    def __ne__(self, other):
        return True


class NoZone(datetime.tzinfo):
    """A zone that does not know its offset: such a datetime has none."""

    def utcoffset(self, when):
        return None


def write(path, columns, rows, **options):
    samples = [{"x": b"", **dict(zip(columns, row, strict=True))} for row in rows]
    return reference.write(path, {"x": Bytes()}, samples, columns, **options)


def column(path, name="m"):
    return [sample[name] for sample in reference.read(path)]


def exact(value):
    if isinstance(value, np.generic):
        return type(value), value.dtype, value.tobytes()
    return type(value), struct.pack("<d", value) if isinstance(value, float) else value


@pytest.mark.parametrize("word", COLUMN_TYPES)
def test_every_type_keeps_its_extremes_and_nulls(tmp_path, word):
    for case, values in enumerate(
        [EXTREMES[word], [None, *EXTREMES[word], None], [None] * 20, [*EXTREMES[word]] * 9]
    ):
        path = tmp_path / f"c{case}"
        write(path, {"m": word}, [(value,) for value in values])
        assert [exact(value) for value in column(path)] == [exact(value) for value in values]
        assert validate(path) == []


GIVEN = [
    ("bool", np.True_, True),
    ("int8", np.uint64(5), 5),
    ("float64", 3, 3.0),
    ("float64", 2**60, float(2**60)),
    ("float64", np.float32(0.1), float(np.float32(0.1))),
    ("float32", np.float32(0.1), float(np.float32(0.1))),
    ("float32", np.float64(1.5), 1.5),
    ("float32", np.float16(1.5), 1.5),
    ("float32", 2**24, float(2**24)),
    ("float64", np.int64(2**53 + 2), float(2**53 + 2)),
    ("float32", np.uint8(255), 255.0),
    ("string", np.str_("a"), "a"),
    ("binary", bytearray(b"a"), b"a"),
    ("binary", memoryview(b"a"), b"a"),
    ("date", datetime.date(1970, 1, 2), np.datetime64(1, "D")),
    ("date", datetime.date.max, np.datetime64("9999-12-31")),
    ("date", datetime.date.min, np.datetime64("0001-01-01")),
    ("date", np.datetime64("2024-01-02T00:00:00", "s"), np.datetime64("2024-01-02")),
    ("timestamp[us]", datetime.datetime(1970, 1, 1, 0, 0, 1, 5), np.datetime64(1_000_005, "us")),
    ("timestamp[ns]", datetime.datetime(1969, 12, 31, 23, 59, 59, 1), np.datetime64(-999_999_000, "ns")),
    (
        "timestamp[ms]",
        datetime.datetime.max.replace(microsecond=0),
        np.datetime64("9999-12-31T23:59:59", "ms"),
    ),
    ("timestamp[ms]", np.datetime64("2024-01-02"), np.datetime64("2024-01-02", "ms")),
    ("timestamp[us, UTC]", datetime.datetime(1970, 1, 1, 1, tzinfo=UTC), np.datetime64(3600 * 10**6, "us")),
    (
        "timestamp[us, UTC]",
        datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        np.datetime64(0, "us"),
    ),
    ("timestamp[us, UTC]", np.datetime64(5, "us"), np.datetime64(5, "us")),
    ("date", np.datetime64("NaT"), None),
    ("timestamp[ns]", np.datetime64("NaT", "us"), None),
    ("duration[us]", np.timedelta64("NaT", "ns"), None),
    ("duration[us]", datetime.timedelta(days=-1, microseconds=1), np.timedelta64(1 - 86_400 * 10**6, "us")),
    ("duration[ns]", datetime.timedelta(microseconds=1), np.timedelta64(1000, "ns")),
    ("duration[ms]", np.timedelta64(2, "h"), np.timedelta64(7_200_000, "ms")),
    ("timestamp[ns]", np.datetime64(1000, "ps"), np.datetime64(1, "ns")),
    ("duration[us]", np.timedelta64(-(10**15), "fs"), np.timedelta64(-(10**6), "us")),
    ("date", np.datetime64(0, "as"), np.datetime64(0, "D")),
    ("timestamp[ns]", Finer(1970, 1, 1, 0, 0, 1), np.datetime64(10**9 + 7, "ns")),
    ("timestamp[ns, UTC]", Finer(1970, 1, 1, 2, tzinfo=EAST), np.datetime64(7, "ns")),
    ("duration[ns]", Longer(microseconds=-1), np.timedelta64(-1000 + 7, "ns")),
    ("date", NotATime(1970, 1, 1), None),
    ("timestamp[ns]", NotATime(1970, 1, 1), None),
    ("timestamp[ns, UTC]", NotATime(1970, 1, 1), None),
    ("duration[ns]", NotATime(1970, 1, 1), None),
    ("timestamp[us]", datetime.datetime(1970, 1, 1, tzinfo=NoZone()), np.datetime64(0, "us")),
    (
        "timestamp[ms, UTC]",
        datetime.datetime.max.replace(microsecond=0, tzinfo=WEST),
        np.datetime64("10000-01-01T04:59:59", "ms"),
    ),
    (
        "timestamp[ms, UTC]",
        datetime.datetime.min.replace(tzinfo=EAST),
        np.datetime64("0000-12-31T22:00", "ms"),
    ),
]


@pytest.mark.parametrize(("word", "given", "expected"), GIVEN)
def test_other_spellings_of_a_value_are_stored_exactly(tmp_path, word, given, expected):
    write(tmp_path / "c", {"m": word}, [(given,)])
    assert [exact(value) for value in column(tmp_path / "c")] == [exact(expected)]


REFUSED = [
    ("bool", 1),
    ("int8", 128),
    ("int8", -129),
    ("uint64", 2**64),
    ("uint8", -1),
    ("int32", 1.0),
    ("int32", "1"),
    ("int32", False),
    ("float32", 0.1),
    ("float32", np.float64(1 / 3)),
    ("float64", True),
    ("float64", "1"),
    ("float64", 2**53 + 1),
    ("float32", 2**24 + 1),
    ("float64", np.int64(2**53 + 1)),
    ("float64", np.int64(-(2**53) - 1)),
    ("float64", np.uint64(2**64 - 1)),
    ("float32", np.int32(2**24 + 1)),
    ("float64", np.timedelta64(1, "us")),
    ("int8", np.timedelta64(1, "us")),
    ("float32", 1e39),
    ("float32", 10**400),
    ("string", b"a"),
    ("string", 1),
    ("binary", "a"),
    ("date", datetime.datetime(2024, 1, 1)),
    ("date", "2024-01-01"),
    ("date", np.datetime64("2024-01-01T01", "h")),
    ("date", np.datetime64(2**31, "D")),
    ("timestamp[us]", datetime.datetime(2024, 1, 1, tzinfo=UTC)),
    ("timestamp[us, UTC]", datetime.datetime(2024, 1, 1)),
    ("timestamp[us]", datetime.date(2024, 1, 1)),
    ("timestamp[ms]", datetime.datetime(2024, 1, 1, microsecond=1)),
    ("timestamp[us]", np.datetime64(1, "ns")),
    ("timestamp[ns]", datetime.datetime(9999, 1, 1)),
    ("timestamp[us]", np.timedelta64("NaT", "us")),
    ("timestamp[us]", np.datetime64("2024", "Y")),
    ("timestamp[us]", np.timedelta64(1, "us")),
    ("timestamp[us]", 5),
    ("duration[ms]", datetime.timedelta(microseconds=1)),
    ("duration[us]", np.datetime64(1, "us")),
    ("duration[us]", 1.5),
    ("duration[us]", np.datetime64("NaT", "us")),
    ("timestamp[ns]", np.datetime64(1, "as")),
    ("timestamp[us]", Finer(1970, 1, 1)),
    ("duration[us]", Longer(0)),
    ("timestamp[us, UTC]", datetime.datetime(1970, 1, 1, tzinfo=NoZone())),
]


@pytest.mark.parametrize(("word", "value"), REFUSED)
def test_values_that_a_column_cannot_hold_exactly_are_refused(tmp_path, word, value):
    with pytest.raises(SchemaError, match="sample 0, metadata column 'm': "):
        write(tmp_path / "c", {"m": word}, [(value,)])


@pytest.mark.parametrize("word", COLUMN_TYPES)
def test_an_integer_too_long_to_be_written_out_is_refused_and_described(word):
    for value in 10**5000, -(10**5000):
        with pytest.raises(ValueError, match="an integer of 16610 bits"):
            stored_value(word, value)


@pytest.mark.parametrize("value", [None, -1.0, float("nan"), float("inf"), True, "1"])
def test_weights_are_finite_and_not_negative_and_never_null(tmp_path, value):
    with pytest.raises(SchemaError, match="sample 1, metadata column 'weight': "):
        write(tmp_path / "c", {"weight": "float64"}, [(1.0,), (value,)])


def test_people_get_large_strings_and_polars_gets_views(tmp_path):
    rows = [("a", b"a"), (None, None), ("long enough to be out of line", b"\xff" * 40)]
    write(tmp_path / "c", {"s": "string", "b": "binary"}, rows)
    table = read_table(tmp_path / "c")
    assert table.schema == pa.schema([("s", pa.large_string()), ("b", pa.large_binary())])
    assert [tuple(row.values()) for row in table.to_pylist()] == rows
    views = read_table(tmp_path / "c", views=True)
    assert views.schema == pa.schema([("s", pa.string_view()), ("b", pa.binary_view())])
    assert [tuple(row.values()) for row in views.to_pylist()] == rows
    write(tmp_path / "none", {}, [()])
    assert read_table(tmp_path / "none") is None


def test_batches_have_262144_rows_and_chunks_4_mib():
    count = BATCH_ROWS + 2
    rows = [(i if i % 5 else None, "s" * (i % 20)) for i in range(count)]
    writer = MetadataWriter({"n": "int32", "s": "string"})
    for row in rows:
        writer.append(row)
    data, entry = writer.finish()
    table = arrow_table(data, count, set())
    assert [len(chunk) for chunk in table.column("n").chunks] == [BATCH_ROWS, 2]
    assert table.column("n").to_pylist() == [n for n, _ in rows]
    assert table.column("s").to_pylist() == [s for _, s in rows]
    assert len(entry.chunks) == -(-entry.bytes // 2**22) > 1
    last = len(entry.chunks) - 1
    for damaged in ([], [0], [len(data) - 1], [0, len(data) - 1]):
        changed = bytearray(data)
        for at in damaged:
            changed[at] ^= 1
        chunks = [changed[start : start + 2**22] for start in range(0, len(changed), 2**22)]
        found = [chunk_violation(chunk, entry, number) for number, chunk in enumerate(chunks)]
        bad = [number for number, violation in enumerate(found) if violation is not None]
        assert bad == [0 if at == 0 else last for at in damaged]
        assert {found[number].rule for number in bad} <= {"R041"}


# Forged files: what another writer could make, with all digests right.

VIEWS = [("n", pa.int32()), ("s", pa.string_view()), ("b", pa.bool_())]
ROWS = {
    "n": [1, None, 3, 4, 5],
    "s": ["x", "y" * 20, None, "z" * 13, ""],
    "b": [True, False, True, None, True],
}


def arrow(schema=None, batches=None, **options):
    schema = pa.schema(VIEWS) if schema is None else schema
    batches = [ROWS] if batches is None else batches
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            arrays = [
                values if isinstance(values, pa.Array) else pa.array(values, kind.type)
                for values, kind in zip(batch.values(), schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
    return sink.getvalue().to_pybytes()


def damage(path):
    try:
        reference.read(path)
    except DataError as error:
        return error.rule
    return None


@pytest.fixture
def rule_of(tmp_path):
    """Put a file in place of the metadata of a cache and say which rule that breaks."""

    def rule_of(data, samples=5):
        path = tmp_path / "c"
        if not path.exists():
            reference.write(path, {"x": Bytes()}, [{"x": b"", "n": 1}] * samples, {"n": "int8"})
        manifest = json.loads((path / "manifest.json").read_bytes())
        manifest.pop("digest")
        chunks = [blake3(data[i : i + 2**22]).hexdigest() for i in range(0, len(data), 2**22)]
        manifest["metadata"] = {"bytes": len(data), "chunks": chunks}
        content = json.dumps(manifest).encode()
        digest = blake3(content).hexdigest().encode()
        (path / "manifest.json").write_bytes(b'{"digest":"' + digest + b'",' + content[1:])
        (path / "metadata.arrow").write_bytes(data)
        problems = validate(path)
        found = damage(path)
        assert [problem.rule for problem in problems][:1] == ([] if found is None else [found])
        assert {problem.kind for problem in problems} <= {"metadata"}
        return found

    return rule_of


def field(name="n", kind=None, nullable=True, metadata=None):
    return pa.field(name, pa.int32() if kind is None else kind, nullable, metadata)


def one(*fields, metadata=None):
    return pa.schema(fields, metadata=metadata)


def test_files_of_other_writers_are_accepted(rule_of):
    assert rule_of(arrow()) is None
    assert rule_of(arrow(one(field()), [{"n": [1, 2, 3, 4, 5]}])) is None
    # A bitmap that holds no null.
    bitmap = pa.Array.from_buffers(
        pa.int32(), 5, [pa.py_buffer(b"\x1f"), pa.py_buffer(bytes(20))], null_count=-1
    )
    assert rule_of(arrow(one(field()), [{"n": bitmap}])) is None
    weight = one(field("weight", pa.float64()))
    assert rule_of(arrow(weight, [{"weight": [0.0, -0.0, 5e-324, 1e308, 1.0]}])) is None
    assert rule_of(arrow(one(field("ü" * 127)), [{"": [1] * 5}])) is None


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.binary(),
        pa.binary(3),
        pa.decimal128(9),
        pa.float16(),
        pa.date64(),
        pa.time64("us"),
        pa.timestamp("s"),
        pa.timestamp("us", "Europe/Berlin"),
        pa.timestamp("us", "utc"),
        pa.duration("s"),
        pa.null(),
        pa.list_(pa.int8()),
        pa.list_(pa.int8(), 2),
        pa.struct([("a", pa.int8())]),
        pa.map_(pa.int8(), pa.int8()),
        pa.dictionary(pa.int8(), pa.string()),
        pa.month_day_nano_interval(),
        pa.run_end_encoded(pa.int32(), pa.int8()),
        pa.list_view(pa.int8()),
    ],
    ids=str,
)
def test_r045_other_types(rule_of, kind):
    values = pa.array([None] * 5, pa.int8()).cast(pa.int8()) if kind == pa.null() else None
    values = pa.nulls(5, kind) if values is None else pa.nulls(5)
    assert rule_of(arrow(one(field(kind=kind)), [{"n": values}])) == "R045"


@pytest.mark.parametrize(
    "schema",
    [
        one(),
        one(field(""), metadata=None),
        one(field("x")),
        one(field("_a")),
        one(field("cache_id")),
        one(field("sample_id")),
        one(field("a\0b")),
        one(field("ü" * 128)),
        one(field(), field()),
        one(field(nullable=False)),
        one(field(metadata={"a": "b"})),
        one(field(), metadata={"pandas": "{}"}),
    ],
    ids=str,
)
def test_r045_other_schemas(rule_of, schema):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        arrays = [pa.array([1] * 5, pa.int32())] * len(schema)
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    assert rule_of(sink.getvalue().to_pybytes()) == "R045"


def test_r045_other_framing(rule_of):
    assert rule_of(arrow(compression="zstd")) == "R045"
    assert rule_of(arrow(metadata_version=pa.ipc.MetadataVersion.V4)) == "R045"
    data = arrow()
    # The footer says another name than the first message.
    at = data.rindex(b"\x01\0\0\0s\0")
    assert rule_of(data[:at] + b"\x01\0\0\0t\0" + data[at + 6 :]) == "R045"


def test_r042_what_is_no_arrow_file(rule_of):
    data = arrow()
    for broken in (
        b"x",
        b"ARROW1" * 2,
        data[:-1],
        data + b"\0",
        data[:-10] + struct.pack("<i", -1) + data[-6:],
        data[:-10] + struct.pack("<i", 2**31 - 1) + data[-6:],
        data[:8] + bytes(4) + data[12:],
        pa.ipc.new_stream(sink := pa.BufferOutputStream(), one(field())).close()
        or sink.getvalue().to_pybytes(),
    ):
        assert rule_of(broken) == "R042"


def patched(data, found, replacement, occurrence=0):
    """Replace the bytes `found` in the messages; there must be enough of them."""
    at = -1
    for _ in range(occurrence + 1):
        at = data.index(found, at + 1)
    return data[:at] + replacement + data[at + len(found) :]


def test_r042_null_counts(rule_of):
    data = arrow()
    node = struct.pack("<qq", 5, 1)
    for broken in (5, 0), (5, 2), (5, -1), (5, 5), (4, 1), (6, 1), (-1, 1), (2**62, 1):
        for occurrence in range(3):
            assert rule_of(patched(data, node, struct.pack("<qq", *broken), occurrence)) == "R042"
    plain = arrow(one(field()), [{"n": [1, 2, 3, 4, 5]}])
    assert rule_of(patched(plain, struct.pack("<qq", 5, 0), node)) == "R042"


def test_r042_buffers(rule_of):
    data = arrow()
    table = pa.ipc.open_file(data).read_all()
    assert table.num_rows == 5
    # Offset and length of the ints after their bitmap, and of the views after theirs.
    ints, views = struct.pack("<qq", 8, 20), struct.pack("<qq", 40, 80)
    for broken in (4, 20), (8, 16), (8, -8), (-8, 20), (8, 2**40), (2**62, 2**62), (2**62, 20):
        assert rule_of(patched(data, ints, struct.pack("<qq", *broken))) == "R042"
    for broken in (40, 64), (40, 88), (0, 80):
        assert rule_of(patched(data, views, struct.pack("<qq", *broken))) == "R042"


def test_r042_bytes_under_nulls(rule_of):
    def nulls(kind, *buffers):
        buffers = [None if b is None else pa.py_buffer(b) for b in buffers]
        return pa.Array.from_buffers(kind, 5, buffers, null_count=-1)

    for kind, values, sound in (
        (pa.int32(), bytes(16) + b"\0\0\0\1", bytes(20)),
        (pa.float64(), bytes(39) + b"\1", bytes(39) + b"\0"),
        (pa.bool_(), b"\x1f", b"\x0f"),
        (pa.string_view(), bytes(64) + b"\1\0\0\0x" + bytes(11), bytes(80)),
        (pa.binary_view(), bytes(68) + b"x" + bytes(11), bytes(80)),
    ):
        schema = one(field(kind=kind))
        assert rule_of(arrow(schema, [{"n": nulls(kind, b"\x0f", sound)}])) is None
        assert rule_of(arrow(schema, [{"n": nulls(kind, b"\x0f", values)}])) == "R042"


def view(length, prefix, buffer, offset):
    return struct.pack("<i4sii", length, prefix, buffer, offset)


@pytest.mark.parametrize(
    "broken",
    [
        struct.pack("<i12s", 3, b"abcX"),
        struct.pack("<i12s", -1, b""),
        struct.pack("<i12s", 2, b"\xc3"),
        view(18, b"helX", 0, 0),
        view(18, b"hell", 1, 0),
        view(18, b"hell", -1, 0),
        view(18, b"ello", 0, 1),
        view(18, b"hell", 0, -1),
        view(13, b"o wo", 0, 2**31 - 1),
        view(2**31 - 1, b"hell", 0, 0),
    ],
)
def test_r042_views(rule_of, broken):
    text = b"hello world, hello"
    for views, expected in (view(18, b"hell", 0, 0), None), (broken, "R042"):
        buffers = [None, pa.py_buffer(views + bytes(64)), pa.py_buffer(text)]
        column = pa.Array.from_buffers(pa.string_view(), 5, buffers)
        assert rule_of(arrow(one(field(kind=pa.string_view())), [{"n": column}])) == expected


def test_r042_variadic_counts_and_blocks(rule_of):
    data = arrow()
    footer = data[-10 - int.from_bytes(data[-10:-6], "little") : -10]
    blocks = Table.root(memoryview(footer)).structs(3, 24)
    offset, metadata, body = struct.unpack("<qixxxxq", blocks)
    block = struct.pack("<qixxxxq", offset, metadata, body)
    assert data[offset : offset + 4] == b"\xff" * 4
    for broken in (
        (offset + 4, metadata, body),
        (offset + 8, metadata, body),
        (0, metadata, body),
        (-8, metadata, body),
        (offset, metadata + 8, body),
        (offset, metadata - 8, body),
        (offset, -8, body),
        (offset, metadata, body + 8),
        (offset, metadata, body - 8),
        (offset, metadata, 2**40),
        (2**62, metadata, body),
        (8, metadata, body),
    ):
        assert rule_of(patched(data, block, struct.pack("<qixxxxq", *broken))) == "R042"
    message = data[offset : offset + metadata]
    count = message.rindex(struct.pack("<Iq", 1, 1)) + 4
    for broken in 0, 2, -1, 2**62:
        changed = data[: offset + count] + struct.pack("<q", broken) + data[offset + count + 8 :]
        assert rule_of(changed) == "R042"


def test_r043_another_number_of_rows(rule_of):
    short = {name: values[:4] for name, values in ROWS.items()}
    assert rule_of(arrow(batches=[short])) == "R043"
    assert rule_of(arrow(batches=[])) == "R043"
    assert rule_of(arrow(batches=[ROWS, ROWS])) == "R043"


def test_r043_rows_are_counted_before_buffers_are_looked_through(rule_of):
    node, broken = struct.pack("<qq", 5, 1), struct.pack("<qq", 4, 1)
    assert rule_of(patched(arrow(), node, broken)) == "R042"
    assert rule_of(patched(arrow(batches=[ROWS, ROWS]), node, broken)) == "R043"


def test_r044_other_batches(rule_of):
    first = {name: values[:2] for name, values in ROWS.items()}
    second = {name: values[2:] for name, values in ROWS.items()}
    none = {name: [] for name in ROWS}
    for batches in [first, second], [ROWS, none], [none, ROWS]:
        assert rule_of(arrow(batches=batches)) == "R044"


def test_r044_batches_of_more_rows_and_a_short_one_before_the_last():
    schema = one(field("n", pa.int8()))

    def rule(*counts):
        data = arrow(schema, [{"n": pa.array(np.zeros(count, np.int8))} for count in counts])
        try:
            arrow_table(memoryview(data), sum(counts), set())
        except Violation as violation:
            return violation.rule
        return None

    assert rule(BATCH_ROWS + 1) == "R044"
    assert rule(1, BATCH_ROWS) == "R044"
    assert rule(BATCH_ROWS, 1) is None
    assert rule(BATCH_ROWS, BATCH_ROWS) is None


def test_no_batch_and_no_sample_is_sound_and_an_empty_batch_is_not(rule_of):
    assert rule_of(arrow(batches=[]), samples=0) is None
    assert rule_of(arrow(batches=[{name: [] for name in ROWS}])) == "R044"


@pytest.mark.parametrize("value", [None, -1.0, -5e-324, float("nan"), float("inf"), float("-inf")])
def test_r046_weights(tmp_path, rule_of, value):
    weight = one(field("weight", pa.float64()))
    assert rule_of(arrow(weight, [{"weight": [1.0, value, 1.0, value, 0.0]}])) == "R046"
    assert [problem.sample for problem in validate(tmp_path / "c")] == [1, 3]
    with pytest.raises(DataError) as caught:
        reference.read(tmp_path / "c")
    assert caught.value.sample == 1


def test_r046_the_type_of_weights(rule_of):
    for kind in pa.float32(), pa.int64():
        assert rule_of(arrow(one(field("weight", kind)), [{"weight": [1] * 5}])) == "R046"


def test_damage_with_good_digests_raises_nothing_but_data_errors(rule_of):
    data = arrow()
    random = np.random.default_rng(9)
    rules = set()
    for _ in range(300):
        broken = bytearray(data)
        for at in random.integers(0, len(data), random.integers(1, 3)):
            broken[at] = random.choice([0, 1, 4, 8, 127, 128, 255, broken[at] ^ 1 << random.integers(8)])
        rules.add(rule_of(bytes(broken)))
    assert rules <= {None, "R042", "R043", "R044", "R045"}
    assert {"R042", "R045"} <= rules
