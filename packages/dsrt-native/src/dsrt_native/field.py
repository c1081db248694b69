"""One payload field of an open cache."""

from dataclasses import dataclass
from typing import Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from dsrt_format.dtypes import numpy_dtype
from dsrt_native import _native
from dsrt_native.gather import Rows, item_of

__all__ = ["Field", "FieldInfo"]


@dataclass(frozen=True)
class FieldInfo:
    """What the records of a payload field are.

    Attributes:
        name: Its name.
        kind: ``"dense"``, ``"ragged"``, ``"bytes"`` or ``"text"``.
        dtype: The name of its element type; ``"uint8"`` for bytes and text.
        shape: The shape of a record; None for each axis that differs between records.
        codec: ``"raw"``, ``"zstd"`` or ``"zstd-dict"``.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int | None, ...]
    codec: str


@dataclass(frozen=True, eq=False, repr=False)
class Field(FieldInfo):
    """One payload field of an open cache: ``cache.fields[name]``.

    ``field[i]`` is one record: an array (of no axes where the shape is ``()``), a str or bytes.
    ``field[i:j]`` and ``field[[i, j, ...]]`` are the records of many samples: an array, a `RaggedArray` or a
    list. They are the caller's and writable, but for one case: ``field[i:j]`` of a dense field with codec
    raw, inside one shard, is a read-only array over the file if that is mapped (`Cache.io`), not copied. It
    stays valid after the cache is closed.
    """

    _cache: _native.Cache
    _reader: _native.Population
    _place: int

    def __len__(self) -> int:
        return len(self._cache)

    def __getitem__(self, index: SupportsIndex | Rows) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1 and start < stop and self.kind == "dense" and self.codec == "raw":
                mapped = self._cache.slice(self._place, start, stop)
                if mapped is not None:
                    shape = (stop - start, *(axis for axis in self.shape if axis is not None))
                    return np.ndarray(shape, numpy_dtype(self.dtype), mapped)
        return item_of(self._reader, index, [(self.name, None)], "sample")[self.name]

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of elements of each record, of bytes for bytes and text: int64, ``[samples]``.

        No payload is read: the indexes tell, each proven by its digest.

        Raises:
            DataError: An index is damaged (R030, R031, R039).
        """
        return np.frombuffer(self._cache.lengths(self._place), np.int64).copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a field is part of an open cache and is not pickled; send the cache, which is by its path"
        )

    def __repr__(self) -> str:
        shape = f"[{', '.join('*' if axis is None else str(axis) for axis in self.shape)}]"
        return f"<Field {self.name}: {self.kind} {self.dtype}{shape}, {self.codec}, {len(self)} records>"
