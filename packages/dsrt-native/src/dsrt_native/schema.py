"""Fields and columns of a cache to be written, checked and put in words for the engine."""

from collections.abc import Mapping
from typing import Any

from dsrt_format import Bytes, Dense, Ragged, SchemaError, Text, Zstd
from dsrt_format.dtypes import numpy_dtype
from dsrt_format.fields import FieldSpec, codec_name
from dsrt_format.names import column_name_problem, field_name_problem

__all__ = ["described_columns", "described_fields", "require_text"]


def described_fields(fields: Mapping[str, FieldSpec]) -> list[dict[str, Any]]:
    """Return payload fields as the engine takes them.

    Raises:
        TypeError: A spec is none, or `fields` is no mapping.
        SchemaError: A name cannot be that of a field.
    """
    if not isinstance(fields, Mapping):
        raise TypeError(f"fields: expected a mapping of names to specs, not {type(fields).__name__}")
    for name, spec in fields.items():
        if not isinstance(spec, Dense | Ragged | Bytes | Text):
            raise TypeError(f"field {name!r}: expected Dense, Ragged, Bytes or Text, not {spec!r}")
        require_text("the name of a field", name)
        if (problem := field_name_problem(name)) is not None:
            raise SchemaError(f"{name!r} cannot be the name of a field: {problem}")
    return [_described(name, spec) for name, spec in fields.items()]


def described_columns(metadata: Mapping[str, str], fields: Mapping[str, FieldSpec]) -> list[tuple[str, str]]:
    """Return the names and types of metadata columns beside payload fields.

    Raises:
        TypeError: A name or type is no str, or `metadata` is no mapping.
        SchemaError: A name cannot be that of a column.
    """
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata: expected a mapping of names to types, not {type(metadata).__name__}")
    for name, kind in metadata.items():
        require_text("the name of a metadata column", name)
        require_text(f"the type of metadata column {name!r}", kind)
        if (problem := column_name_problem(name, fields)) is not None:
            raise SchemaError(f"{name!r} cannot be the name of a metadata column: {problem}")
    return list(metadata.items())


def _described(name: str, spec: FieldSpec) -> dict[str, Any]:
    codec = spec.codec
    return {
        "name": name,
        "kind": spec.kind,
        "dtype": spec.dtype,
        "shape": spec.shape if isinstance(spec, Dense) else (),
        "ndim": spec.ndim if isinstance(spec, Ragged) else 0,
        "codec": codec_name(codec),
        "level": codec.level if isinstance(codec, Zstd) else 0,
        "dictionary": codec.dictionary if isinstance(codec, Zstd) else None,
        "delta": spec.delta,
        "numpy": _numpy(spec) if isinstance(spec, Dense | Ragged) else None,
    }


def _numpy(spec: Dense | Ragged) -> Any:
    try:
        return numpy_dtype(spec.dtype)
    except ImportError:
        # Whoever has arrays of it has the package; for others the first sample says what is missing.
        return None


def require_text(what: str, value: object) -> None:
    """Refuse what is no text.

    Raises:
        TypeError: It is no str.
        SchemaError: It holds a lone surrogate.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what}: expected a str, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SchemaError(f"{what}: {value!r} holds a lone surrogate, which UTF-8 cannot express") from error
