"""An open cache: samples by number, fields one by one, metadata as a table."""

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex, TypeAlias, overload

from dsrt_format import Manifest, StaleCacheError
from dsrt_format.metadata import without_views
from dsrt_native import _native
from dsrt_native.batch import Batch
from dsrt_native.field import Field
from dsrt_native.gather import Asked, Fields, Rows, asked_of, item_of
from dsrt_native.iteration import samples_of

if TYPE_CHECKING:
    import pyarrow as pa

    from dsrt_native.population import Population

__all__ = ["Cache", "Io"]

Io: TypeAlias = Literal["auto", "mmap", "pread"]
"""How the files of a cache are read: mapped, by ``pread``, or as their file system asks for."""


class Cache:
    """An open cache, read-only. Made by `Cache.open`; may be used from any thread and after a fork.

    ``cache[i]`` is one sample, a dict by name: an array for each dense and ragged field (of no axes where the
    shape is ``()``), str and bytes for text and bytes; for each metadata column a bool, int, float, str,
    bytes, `numpy.datetime64` or `numpy.timedelta64`, or None where it is null. The stored column `weight` is
    there only if it is asked for. ``cache[i:j]`` and ``cache[[i, j, ...]]`` are batches, in the order asked
    for. Negative numbers count from the end; out of range is an IndexError. Iteration yields the samples in
    order; it reads small ones some at a time, which is up to ten times as fast as a call for each.

    A batch holds arrays that are the caller's and writable. Its numeric and temporal columns hold no nulls:
    where one is asked for, ValueError says what to do.

    Pickling keeps path and digest, not the data: unpickling opens the cache again, and raises StaleCacheError
    if another cache lies there by then.

    A published cache never changes. If somebody changes its files all the same while it is open, a read gives
    the old values or raises, with two exceptions for files that are *mapped*. A file that is cut off, or a
    disk or network that fails, ends the process with SIGBUS when the missing part is read. And bytes that are
    overwritten in place at the very moment may be seen by metadata in use, and by a compressed or ragged
    record that was just checked. ``io="pread"`` maps nothing: it raises DataError or OSError, and checks what
    it has read.
    """

    __slots__ = ("_asked", "_fields", "_io", "_native", "_path", "_reader", "_verify")

    def __init__(
        self,
        native: _native.Cache,
        path: str = "",
        asked: Asked | None = None,
        verify: bool = True,
        io: Io = "auto",
    ) -> None:
        if not isinstance(native, _native.Cache):
            raise TypeError(f"caches are opened by Cache.open({native!r})")
        self._native = native
        self._path = path
        self._asked = asked
        self._verify = verify
        self._io: Io = io
        self._reader = _native.Population([native])
        if asked is not None:
            self._reader.check(asked)
        names = None if asked is None else dict(asked)
        fields = [Field(*info, native, self._reader, place) for place, info in enumerate(native.fields())]
        self._fields = MappingProxyType({f.name: f for f in fields if names is None or f.name in names})

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        fields: Fields | None = None,
        verify: bool = True,
        io: Io = "auto",
    ) -> Self:
        """Open the cache in a directory. Takes time by the number of files, not of samples.

        Args:
            path: The directory of the cache.
            fields: Names of what samples and batches hold, in that order: payload fields, metadata columns
                and the built-ins of `Population.gather`, such as ``_row`` and ``cache_id``. By default all
                payload fields and all metadata columns but `weight`, which is one of the built-ins. A mapping
                says the dtypes to deliver, too, as in `Population.gather`; `fields` itself, the records one
                field at a time, keeps the stored ones.
            verify: Compare the checksum of each record that is read. False skips this and nothing else.
            io: ``"mmap"`` maps files, which is fastest. ``"pread"`` reads them into memory: a file that is
                cut off while it is open, or a disk that fails, is an exception then; slices of fields are
                copies, and what was read of the metadata stays in memory. ``"auto"`` is ``"pread"`` on
                network file systems (NFS, SMB, FUSE, Lustre, Ceph and their like) and ``"mmap"`` elsewhere.
                A process maps 32,768 files at most and reads the others. Either way, what the page cache
                does not have is asked for ahead, all that a batch needs at once.

        Raises:
            NotPublishedError: There is no cache at the path.
            UnknownVersionError: The cache is of a later version of the format.
            FormatError: It breaks a rule of the format; a file is missing or has another length.
            SchemaError: A name in `fields` is none of these, or its values could not all be delivered as the
                dtype that is asked for.
            ValueError: `io` is none of the three words; or `fields` names `weight`, and none is stored.
            OSError: A file cannot be opened.
        """
        text = os.fspath(path)
        if not isinstance(text, str):
            raise TypeError(f"path: expected a str or a path of one, not {path!r}; os.fsdecode makes one")
        if io not in ("auto", "mmap", "pread"):
            raise ValueError(f"io={io!r}: expected 'auto', 'mmap' or 'pread'")
        # Absolute for pickling: the working directory may be another one then.
        return cls(_native.Cache.open(text, verify, io), os.path.abspath(text), asked_of(fields), verify, io)

    @property
    def path(self) -> str:
        """The path as it was opened."""
        return self._native.path

    @property
    def io(self) -> Literal["mmap", "pread"]:
        """How its files are read."""
        return self._native.io

    @property
    def cache_id(self) -> int:
        """The number that stands for exactly these bytes: 0 to 2^63-1."""
        return self._native.cache_id

    @property
    def manifest(self) -> Manifest:
        """What the cache holds, read anew from its directory.

        Raises:
            StaleCacheError: Another cache lies at the path by now.
            NotPublishedError: None does.
        """
        manifest = Manifest.load(self._path)
        if manifest.digest != self._native.digest:
            raise StaleCacheError(_stale(self.path, self._native.digest, manifest.digest))
        return manifest

    @property
    def fields(self) -> Mapping[str, Field]:
        """The payload fields by name, in the order of the manifest."""
        return self._fields

    @property
    def metadata(self) -> "pa.Table":
        """The metadata columns as a pyarrow table with one row per sample; without columns if there are none.

        All of it is checked, and not copied if it is mapped and its types allow: strings are
        ``large_string``, and bytes ``large_binary``, copies of what the file holds as views.

        Raises:
            FormatError: The file breaks a rule of the format (R030, R041 to R046).
            MemoryError: The columns do not fit into the memory; ``fields=`` of `open` and slices read some.
        """
        import pyarrow as pa

        stream = self._metadata_stream()
        try:
            return pa.table({}) if stream is None else without_views(pa.table(stream))
        except MemoryError as error:
            raise MemoryError(
                f"cache {self.path}: the metadata as a table does not fit into the memory ({error}); "
                "read some columns instead: Cache.open(path, fields=[...])[:]"
            ) from error

    @property
    def population(self) -> "Population":
        """All samples of this cache, in order, with the stored weights if it has any."""
        from dsrt_native.population import Population  # which is built over caches

        return Population([self])

    def _columns(self) -> dict[str, str]:
        """Return the names of the metadata columns and the words for their types, from the schema alone."""
        return dict(self._native.columns())

    def _metadata_stream(self) -> _native.ArrowStream | None:
        """Return the metadata as the file holds it, strings as views, for the Arrow PyCapsule interface."""
        return self._native.metadata_stream()

    def __len__(self) -> int:
        return len(self._native)

    @overload
    def __getitem__(self, index: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: Rows) -> Batch: ...
    def __getitem__(self, index: SupportsIndex | Rows) -> dict[str, Any]:
        return item_of(self._reader, index, self._asked, "sample")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return samples_of(self._reader, self._asked, "sample")

    def close(self) -> None:
        """Let go of files and maps. Later use raises RuntimeError; arrays handed out stay valid."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        fields = None if self._asked is None else dict(self._asked)
        return _reopen, (type(self), self._path, self._native.digest, fields, self._verify, self._io)

    def __repr__(self) -> str:
        return (
            f"<Cache {self._native.name}: {len(self)} samples of {', '.join(self._fields)} at {self.path!r}>"
        )


def _reopen(cls: type[Cache], path: str, digest: str, fields: Fields | None, verify: bool, io: Io) -> Cache:
    cache = cls.open(path, fields=fields, verify=verify, io=io)
    if cache._native.digest != digest:
        raise StaleCacheError(_stale(path, digest, cache._native.digest))
    return cache


def _stale(path: str, digest: str, found: str) -> str:
    return (
        f"the cache at {path} is another one by now: expected digest {digest[:16]}..., "
        f"found {found[:16]}...; it was rebuilt or replaced, open it anew"
    )
