"""Writing a cache, one sample at a time."""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NoReturn, Self

from dsrt_format import Bytes, Dense, Ragged, SchemaError, Text, Zstd
from dsrt_format.dtypes import numpy_dtype
from dsrt_format.fields import FieldSpec, codec_name
from dsrt_format.names import cache_name_problem, column_name_problem, field_name_problem
from dsrt_native import _native
from dsrt_native.arguments import whole
from dsrt_native.attributes import attributes_json
from dsrt_native.times import clock

__all__ = ["SAMPLES_PER_SHARD", "SHARD_BYTES", "CacheWriter"]

SAMPLES_PER_SHARD = 2**20
"""The default, and the most samples a shard can hold."""

SHARD_BYTES = 256 * 2**20
"""The default: a shard is closed when one of its files holds so many bytes of records."""


class CacheWriter:
    """Writes a cache: leaving the ``with`` block publishes it, an exception discards it.

    Everything is written into ``.<name>.building`` beside `path`, which is locked, and made durable before
    one rename shows it. At every moment `path` is a complete cache or does not exist. Memory stays bounded:
    records go to the files as they come.

    A sample that is refused (`SchemaError`) leaves the writer as it was; one may catch the error and go on.

    Args:
        path: Where the cache will be. The last part is its name: 1 to 63 letters, digits, ``_`` and ``-``.
            Directories above it are made.
        fields: Payload fields by name, in order: `Dense`, `Ragged`, `Bytes` or `Text`.
        metadata: Types of metadata columns by name, in order: names of dtypes (bool, integers, float32,
            float64), ``string``, ``binary``, ``date``, ``timestamp[us]``, ``timestamp[us, UTC]``,
            ``duration[us]`` (or ms, ns). All can be null but for ``weight``, the stored default weight, which
            is float64.
        fingerprint: Whatever identifies code and inputs, such as `dsrt_format.fingerprint` returns.
        attributes: Free JSON, kept in the manifest.
        samples_per_shard: A shard is closed when it holds so many samples, at most 2^20.
        shard_bytes: A shard is closed when one of its files holds so many bytes of records.
        replace: Whether a published cache at `path` is replaced, at the moment this one is complete.

    Raises:
        CacheExistsError: Something is at `path`; with `replace`, something else than a sound cache.
        CacheLockedError: Another process writes this cache; the message says which. The lock of a process
            that died is taken over.
        SchemaError: Fields, columns or attributes that a cache cannot have.
        ValueError: `samples_per_shard` or `shard_bytes` out of range.
        OSError: A directory or file cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fields: Mapping[str, FieldSpec],
        metadata: Mapping[str, str] = MappingProxyType({}),
        *,
        fingerprint: str | None = None,
        attributes: Mapping[str, Any] = MappingProxyType({}),
        samples_per_shard: int = SAMPLES_PER_SHARD,
        shard_bytes: int = SHARD_BYTES,
        replace: bool = False,
    ) -> None:
        self._path = Path(path)
        self._count = 0
        self._native: _native.Writer | None = None
        if (problem := cache_name_problem(self._path.name)) is not None:
            raise SchemaError(f"{self._path.name!r} cannot be the name of a cache: {problem}")
        if fingerprint is not None:
            _require_text("fingerprint", fingerprint)
        columns = _columns(metadata, fields)
        self._clocks = {name: found for name, kind in columns if (found := clock(kind)) is not None}
        self._native = _native.Writer(
            self._path,
            fields=[_field(name, spec) for name, spec in _checked(fields)],
            metadata=columns,
            fingerprint=fingerprint,
            attributes=attributes_json(attributes),
            samples_per_shard=whole("samples_per_shard", samples_per_shard, 1, SAMPLES_PER_SHARD),
            shard_bytes=whole("shard_bytes", shard_bytes, 1),
            replace=replace,
        )

    @property
    def path(self) -> Path:
        """Where the cache will be."""
        return self._path

    @property
    def count(self) -> int:
        """The number of samples appended."""
        return self._count

    def append(self, sample: dict[str, Any]) -> None:
        """Append one sample.

        Args:
            sample: A dict with a value for each field and each metadata column, and nothing else.

                Dense and ragged fields take arrays of exactly the field's dtype, in native byte order, of any
                strides; also other objects with the buffer protocol. A dense field of shape () takes numbers
                of Python and NumPy, too, if its dtype is bool, an integer, float32 or float64 and holds the
                very number. Bytes take bytes-like objects, text takes str.

                Metadata takes None, and numbers, str, bytes-like objects, dates, datetimes and timedeltas of
                Python and NumPy, again only if the type of the column holds the very value. A naive datetime
                goes into a timestamp without a zone, one in UTC into a timestamp in UTC.

        Raises:
            SchemaError: The sample does not fit. The message names field and sample, and the writer is as
                before.
            TypeError: `sample` is no dict.
            OSError: A file could not be written; the disk may be full. The writer is at its end, and what it
                wrote is removed.
            RuntimeError: The writer is closed, or two threads use it at once.
        """
        if self._native is None:
            raise RuntimeError(f"the writer of {self._path} is closed; make a new one")
        if self._clocks and isinstance(sample, dict):
            sample = self._with_ticks(sample)
        self._native.append(sample)
        self._count += 1

    def _with_ticks(self, sample: dict[str, Any]) -> dict[str, Any]:
        ticks = {}
        for name, column in self._clocks.items():
            if name in sample:
                try:
                    ticks[name] = column.ticks(sample[name])
                except ValueError as error:
                    raise SchemaError(f"field {name}, sample {self._count}: {error}") from None
        return sample | ticks

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        native, self._native = self._native, None
        if native is None:
            return
        try:
            if kind is None:
                for warning in native.publish()[2]:
                    warnings.warn(warning, RuntimeWarning, stacklevel=2)
        finally:
            # Does nothing after publication. Before it, Ctrl-C may have come between two lines.
            native.abort()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a writer belongs to the process that made it and is neither pickled nor copied")

    def __repr__(self) -> str:
        return (
            f"<CacheWriter {self._path}: {self._count} samples{', closed' if self._native is None else ''}>"
        )


def _checked(fields: Mapping[str, FieldSpec]) -> list[tuple[str, FieldSpec]]:
    for name, spec in fields.items():
        if not isinstance(spec, Dense | Ragged | Bytes | Text):
            raise TypeError(f"field {name!r}: expected Dense, Ragged, Bytes or Text, not {spec!r}")
        _require_text("the name of a field", name)
        if (problem := field_name_problem(name)) is not None:
            raise SchemaError(f"{name!r} cannot be the name of a field: {problem}")
    return list(fields.items())


def _columns(metadata: Mapping[str, str], fields: Mapping[str, FieldSpec]) -> list[tuple[str, str]]:
    for name, kind in metadata.items():
        _require_text("the name of a metadata column", name)
        _require_text(f"the type of metadata column {name!r}", kind)
        if (problem := column_name_problem(name, fields)) is not None:
            raise SchemaError(f"{name!r} cannot be the name of a metadata column: {problem}")
    return list(metadata.items())


def _field(name: str, spec: FieldSpec) -> dict[str, Any]:
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


def _require_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{what}: expected a str, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SchemaError(f"{what}: {value!r} holds a lone surrogate, which UTF-8 cannot express") from error
