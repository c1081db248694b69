"""Writing a cache: sample by sample or many at once, on threads of the engine, and going on after a crash."""

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NoReturn, Self

from dsrt_format import SchemaError
from dsrt_format.fields import FieldSpec
from dsrt_format.names import cache_name_problem
from dsrt_native import _native
from dsrt_native.arguments import whole
from dsrt_native.attributes import attributes_json
from dsrt_native.samples import given_columns
from dsrt_native.schema import described_columns, described_fields, require_text
from dsrt_native.threads import default_threads
from dsrt_native.times import clock

__all__ = ["SAMPLES_PER_SHARD", "SHARD_BYTES", "CacheWriter"]

SAMPLES_PER_SHARD = 2**20
"""The default, and the most samples a shard can hold."""

SHARD_BYTES = 256 * 2**20
"""The default: a shard is closed when one of its files holds so many bytes of records."""

# The lock of a writer that dies must be free, whatever children it has.
os.register_at_fork(after_in_child=_native.leave_locks_to_parent)

_EARLIER = {None: "ask", True: "resume", False: "discard"}


class CacheWriter:
    """Writes a cache: leaving the ``with`` block publishes it, an exception does not.

    Without the block nothing is published, and a RuntimeWarning says so when the writer is let go.

    Everything is written into ``.<name>.building`` beside `path`, which is locked, and made durable before
    one rename shows it. At every moment `path` is a complete cache or does not exist. Threads of the engine
    compress, digest and write; memory stays bounded whatever the number of samples, and the bytes of the
    cache depend neither on the threads nor on how the samples came.

    A shard that is complete is made durable while later samples come: `durable_count` says how many samples
    would survive kill -9, a power cut or a full disk now. With a `fingerprint` they are kept after whatever
    ended the writer, an exception and Ctrl-C included, and a later writer of the same cache goes on from them
    with ``resume=True``. They are given up if anything else about the cache differs (its fields, columns,
    attributes, sizes of shards, the version of the writer); `restarted` and a warning say so. Without a
    fingerprint nobody could say whether the samples are still the same, and nothing is kept.

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
        threads: Threads that compress, digest and write; by default 4, or as many as there are CPUs.
        samples_per_shard: A shard is closed when it holds so many samples, at most 2^20. What is in no closed
            shard is lost in a crash: make it small where samples take long.
        shard_bytes: A shard is closed when one of its files holds so many bytes of records.
        resume: What becomes of durable samples of an earlier run that did not end: True goes on behind them
            (`count` says with which sample), False starts over, None makes them an error.
        replace: Whether a published cache at `path` is replaced, at the moment this one is complete.

    Raises:
        CacheExistsError: Something is at `path`; with `replace`, something else than a sound cache. Or there
            are durable samples of an earlier run, and `resume` is None. Or ``.<name>.building`` holds what no
            writer made.
        CacheLockedError: Another process writes this cache; the message says which. The lock of a process
            that died is taken over.
        SchemaError: Fields, columns or attributes that a cache cannot have.
        ValueError: `threads`, `samples_per_shard` or `shard_bytes` out of range. Or `path` lies in a
            published cache, with which it would be deleted.
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
        threads: int | None = None,
        samples_per_shard: int = SAMPLES_PER_SHARD,
        shard_bytes: int = SHARD_BYTES,
        resume: bool | None = None,
        replace: bool = False,
    ) -> None:
        self._path = Path(path)
        self._native: _native.Writer | None = None
        self._count = self._resumed = 0
        self._process = os.getpid()
        if (problem := cache_name_problem(self._path.name)) is not None:
            raise SchemaError(f"{self._path.name!r} cannot be the name of a cache: {problem}")
        if fingerprint is not None:
            require_text("fingerprint", fingerprint)
        if resume is not None and not isinstance(resume, bool):
            raise TypeError(f"resume={resume!r}: expected True, False or None")
        described, columns = described_fields(fields), described_columns(metadata, fields)
        self._fields = dict(fields)
        self._columns = dict(columns)
        self._clocks = {name: found for name, kind in columns if (found := clock(kind)) is not None}
        self._native = _native.Writer(
            self._path,
            fields=described,
            metadata=columns,
            fingerprint=fingerprint,
            attributes=attributes_json(attributes),
            samples_per_shard=whole("samples_per_shard", samples_per_shard, 1, SAMPLES_PER_SHARD),
            shard_bytes=whole("shard_bytes", shard_bytes, 1),
            replace=replace,
            threads=default_threads() if threads is None else whole("threads", threads, 1, 1024),
            earlier=_EARLIER[resume],
        )
        self._count = self._native.count
        self._durable = self._native.durable
        self._resumed = self._native.resumed
        self._restarted = self._native.restarted
        if self._restarted is not None and resume:
            warnings.warn(f"{self._path}: {self._restarted}", RuntimeWarning, stacklevel=2)

    @property
    def path(self) -> Path:
        """Where the cache will be."""
        return self._path

    @property
    def count(self) -> int:
        """The number of samples in the cache so far, those of an earlier run included."""
        return self._count

    @property
    def durable_count(self) -> int:
        """Samples that survive whatever happens from now on.

        It rises by a shard at a time, some moments after the shard's last sample. With a fingerprint, a later
        run goes on from them. Once the writer is closed: samples that were published, or that are kept.
        """
        if self._native is not None:
            self._durable = self._native.durable
        return self._durable

    @property
    def resumed_from(self) -> int:
        """Samples that were taken over from an earlier run; `append` goes on with this number."""
        return self._resumed

    @property
    def restarted(self) -> str | None:
        """Why durable samples of an earlier run, or some of them, were not used; None if all were."""
        return self._restarted

    def append(self, sample: dict[str, Any]) -> None:
        """Append one sample.

        Args:
            sample: A dict with a value for each field and each metadata column, and nothing else.

                Dense and ragged fields take arrays of exactly the field's dtype, in native byte order, of any
                strides; also other objects with the buffer protocol. A dense field of shape () takes numbers
                of Python and NumPy, too, if its dtype is bool, an integer, float32 or float64 and holds the
                very number. Bytes take bytes and buffers of them on one axis, without gaps; text takes str.

                Metadata takes None, and numbers, str, bytes as above, dates, datetimes and timedeltas of
                Python and NumPy, again only if the type of the column holds the very value. A naive datetime
                goes into a timestamp without a zone, one in UTC into a timestamp in UTC.

        Raises:
            SchemaError: The sample does not fit. The message names field and sample, and the writer is as
                before. Or a dictionary could not be trained on the samples so far: the writer is at its end.
            TypeError: `sample` is no dict.
            OSError: A file could not be written; the disk may be full. It may be a file of samples that came
                long before. The writer is at its end; durable samples stay.
            RuntimeError: The writer is closed, or two threads use it at once.
        """
        native = self._open()
        if self._clocks and isinstance(sample, dict):
            sample = self._with_ticks(sample)
        try:
            native.append(sample)
            self._count += 1
        except BaseException:
            # Ctrl-C may have come between these two lines.
            self._count = native.count
            raise

    def append_batch(self, columns: Mapping[str, Any] | Any) -> None:
        """Append many samples at once, which gives the same cache as to append them one by one.

        Args:
            columns: For each field and each metadata column its values, one a sample, and nothing else: a
                mapping by name, or an Arrow table or record batch (anything with the Arrow PyCapsule
                interface: of pyarrow, Polars, ...). Any number of samples, 0 too.

                Dense fields take one array ``[samples, *shape]``, ragged ones a `RaggedArray`, a list of
                arrays, or one array if all records have the same shape; bytes take a list of what `append`
                takes, text one of str. Metadata columns take arrays on one axis (numbers, bool,
                datetime64, timedelta64, str) or lists of values and None. An array of str has no U+0000 at
                the end of its strings, whatever it was made of: a list has them.

                Each may be Arrow data instead: numbers, binary and text; fixed-size lists, however deep, for
                dense fields; lists (of fixed-size lists, if there is more than one axis) for ragged ones.
                Dictionaries are looked up. Nulls are nulls in metadata, and refused in a payload.

                As in `append` nothing is cast: arrays have exactly the field's dtype, and a metadata value is
                stored if the type of its column holds that very value.

        Raises:
            SchemaError: The samples do not fit, or are not equally many in all columns. The message names
                field and sample. None of them is stored, and the writer is as before. (After Ctrl-C `count`
                says how many were.) Or a dictionary could not be trained, as for `append`.
            TypeError: `columns` is neither a mapping nor a table.
            OSError: As for `append`.
            RuntimeError: The writer is closed, or two threads use it at once.
        """
        native = self._open()
        given = given_columns(columns, self._fields, self._columns, self._clocks, self._count)
        try:
            native.append_batch(given)
        finally:
            # Ctrl-C comes between two samples.
            self._count = native.count

    def _open(self) -> _native.Writer:
        if self._native is None:
            raise RuntimeError(f"the writer of {self._path} is closed; make a new one")
        return self._native

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
                    # May be an error, if that is how warnings are filtered.
                    warnings.warn(warning, RuntimeWarning, stacklevel=2)
        except BaseException as failed:
            error = failed
            raise
        finally:
            try:
                # Does nothing after publication. Before it, Ctrl-C may have come between two lines.
                native.abort()
            except BaseException as again:
                # Ctrl-C once more: full shards that were not durable yet are given up.
                error = again
                raise
            finally:
                self._durable = native.durable
                if error is not None:
                    _say_what_became(error, self._path, native)
                # Its traceback leads to this frame: together they would keep the writer and its lock.
                error = None

    def __del__(
        self, _warn: Callable[..., None] = warnings.warn, _process: Callable[[], int] = os.getpid
    ) -> None:
        # The defaults are there at the interpreter's end, too, when names of modules may be gone.
        native = getattr(self, "_native", None)  # lacking if it was made with wrong arguments
        # In a fork it is the parent's, and one that ended otherwise has raised an exception.
        if native is None or self._process != _process() or native.outcome is not None:
            return
        if (lost := self._count - self._resumed) > 0:
            _warn(
                f"{self._path}: {lost} samples were appended and are not published, because the writer was "
                "used without a with block; write `with CacheWriter(...) as writer:`",
                RuntimeWarning,
                stacklevel=2,
            )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a writer belongs to the process that made it and is neither pickled nor copied")

    def __repr__(self) -> str:
        return (
            f"<CacheWriter {self._path}: {self._count} samples{', closed' if self._native is None else ''}>"
        )


def _say_what_became(error: BaseException, path: Path, native: _native.Writer) -> None:
    """Note on an error what became of the samples, unless an exception of the engine has said it."""
    if native.outcome is None:
        return
    what, samples, is_told = native.outcome
    if is_told or (what, samples) == ("removed", 0):
        return
    said = {
        "kept": f"{samples} samples are durable; the next run goes on from there",
        "removed": f"{samples} samples were durable and are given up: there is no fingerprint by which a "
        "later run could know that they are still the same",
        "published": f"the cache was published all the same, and is durable, with {samples} samples",
        "unsure": "the cache is published, but whether it survives a power cut is unknown",
    }
    error.add_note(f"{path}: {said[what]}")
