"""The schema of metadata.arrow, as its bytes have it: only what the format allows (rule R045)."""

from collections.abc import Container

from dsrt_format.flatbuffer import Table
from dsrt_format.names import column_name_problem
from dsrt_format.rules import Violation

__all__ = ["read_schema"]

# Members of the union Type in Arrow's Schema.fbs.
_INT, _FLOAT, _BOOL, _DATE, _TIMESTAMP, _DURATION, _BINARY_VIEW, _UTF8_VIEW = 2, 3, 6, 8, 10, 18, 23, 24
_STORED = frozenset((_INT, _FLOAT, _BOOL, _DATE, _TIMESTAMP, _DURATION, _BINARY_VIEW, _UTF8_VIEW))
_REFUSED = {
    1: "null",
    4: "binary (binary_view is stored)",
    5: "utf8 (utf8_view is stored)",
    7: "decimal (store an integer of the smallest unit, or float64)",
    9: "time (store a duration)",
    11: "interval",
    12: "list (store a ragged field)",
    13: "struct (store one column per member)",
    14: "union",
    15: "fixed-size binary (store binary)",
    16: "fixed-size list (store a dense field)",
    17: "map",
    19: "large binary (binary_view is stored)",
    20: "large utf8 (utf8_view is stored)",
    21: "large list (store a ragged field)",
    22: "run-end encoded",
    25: "list view",
    26: "large list view",
}
_UNITS = ("s", "ms", "us", "ns")


def read_schema(schema: Table, fields: Container[str]) -> dict[str, str]:
    """Return the columns of a schema: the word for each type by name, in order.

    Args:
        schema: The table Schema.
        fields: The names of the payload fields, which columns cannot have.

    Raises:
        Violation: R045, or R042 if the bytes make no sense.
    """
    if schema.scalar(0, "h", 0) != 0:
        raise Violation("R045", "metadata.arrow says that it is big-endian")
    columns: dict[str, str] = {}
    for column in schema.tables(1):
        raw_name = column.text(0) or b""
        try:
            name = raw_name.decode()
        except UnicodeDecodeError:
            raise Violation("R045", f"the column name {raw_name!r:.80} is not UTF-8") from None
        try:
            columns[name] = _checked_column(column, name, columns, fields)
        except Violation as violation:
            if violation.rule == "R045":
                violation.at(field=name)
            raise
    if not columns:
        raise Violation("R045", "metadata.arrow has no column; a cache without metadata has no such file")
    if schema.count(2):
        raise Violation("R045", "the schema of metadata.arrow has custom metadata; write it without")
    schema.structs(3, 8)  # the features, which nobody asks for and which must make sense
    return columns


def _checked_column(column: Table, name: str, earlier: Container[str], fields: Container[str]) -> str:
    """Return the word for the type of a column, once all is right about it."""
    if (problem := column_name_problem(name, fields)) is not None:
        raise Violation("R045", f"a metadata column has the name {name!r:.80}: {problem}")
    if name in earlier:
        raise Violation("R045", f"two metadata columns have the name {name!r}")
    if not column.scalar(1, "B", 0):
        raise Violation("R045", f"the metadata column {name!r} is not nullable; every column is")
    word = _type_word(column, name)
    if column.has(4):
        raise Violation("R045", f"the metadata column {name!r} is dictionary-encoded; write plain values")
    if column.count(5):
        raise Violation("R045", f"the metadata column {name!r} has children; write plain values")
    if column.count(6):
        raise Violation("R045", f"the metadata column {name!r} has custom metadata; write it without")
    return word


def _type_word(column: Table, name: str) -> str:
    kind = column.scalar(2, "B", 0)
    # What belongs to a type that is not stored is not looked at.
    details = column.table(3) if kind in _STORED else None
    word = None if details is None else _stored_word(kind, details)
    if word is None:
        found = _REFUSED.get(kind, "of that width, unit or zone")
        raise Violation("R045", f"the metadata column {name!r} has a type that caches do not have: {found}")
    return word


def _stored_word(kind: int, details: Table) -> str | None:
    """Return the word for a type of which some are stored; None if its details make it another one."""
    if kind == _INT:
        bits, signed = details.scalar(0, "i", 0), details.scalar(1, "B", 0)
        return f"{'' if signed else 'u'}int{bits}" if bits in (8, 16, 32, 64) else None
    if kind == _FLOAT:
        return {1: "float32", 2: "float64"}.get(details.scalar(0, "h", 0))
    if kind == _DATE:
        return {0: "date"}.get(details.scalar(0, "h", 1))
    if kind in (_TIMESTAMP, _DURATION):
        unit = details.scalar(0, "h", 0 if kind == _TIMESTAMP else 1)
        zone = details.text(1) if kind == _TIMESTAMP else None
        suffix = {None: "", b"UTC": ", UTC"}.get(zone)
        if not 1 <= unit <= 3 or suffix is None:
            return None
        return f"{'timestamp' if kind == _TIMESTAMP else 'duration'}[{_UNITS[unit]}{suffix}]"
    return {_BOOL: "bool", _UTF8_VIEW: "string", _BINARY_VIEW: "binary"}[kind]
