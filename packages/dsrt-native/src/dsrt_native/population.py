"""The rows that training sees: samples of one or more caches, in an order, with weights and extra columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, Self, SupportsIndex, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrt_native import _native
from dsrt_native.batch import Batch
from dsrt_native.cache import Cache
from dsrt_native.columns import check_names_of, columns_of, weights_of
from dsrt_native.field import FieldInfo
from dsrt_native.gather import Errors, Fields, Rows, asked_of, batch_of, integers_of, item_of, masks, rows_of
from dsrt_native.iteration import samples_of
from dsrt_native.out import Out, batch_in

__all__ = ["HasPopulation", "Population"]


@runtime_checkable
class HasPopulation(Protocol):
    """What a loader streams: anything with a population, which is read once, when the loader is made."""

    @property
    def population(self) -> "Population":
        """The rows."""
        ...


class Population:
    """Rows over caches: an ordered list of samples, duplicates allowed, with weights and extra columns.

    Immutable, validated as a whole when it is made, and safe to use from any thread. ``population[i]`` is one
    sample, ``population[i:j]`` and ``population[[i, j, ...]]`` are batches, as for `Cache`, with the extra
    columns.

    Args:
        caches: The caches, in order. They stay open as long as the population lives.
        rows: Integers into the concatenation of the caches, from 0; all of it by default.
        weights: float64, finite, >= 0, one per row. None means the stored weights, if the caches have any;
            `with_weights` can say that there are none.
        columns: Extra columns, delivered beside the fields: a mapping from names to arrays, or a table that
            speaks the Arrow PyCapsule interface (of Polars or pyarrow). An array is NumPy's (bool, integers,
            float32 and 64, datetime64, timedelta64, str), a list of strings or bytes, or speaks that
            interface, with which there can be nulls.

    Raises:
        SchemaError: A column's name or type is illegal; a length is not that of the rows.
        FormatError: Two caches are the same one (R072).
        IndexError: A row is out of range; the message names it.
        ValueError: A weight is negative or not finite; the message names the row.
    """

    __slots__ = ("_caches", "_native")

    def __init__(
        self,
        caches: Iterable[Cache],
        *,
        rows: Sequence[int] | NDArray[np.integer[Any]] | None = None,
        weights: ArrayLike | None = None,
        columns: Mapping[str, Any] | Any | None = None,
    ) -> None:
        self._caches = _checked(caches)
        self._native = _native.Population(
            [cache._native for cache in self._caches],
            None if rows is None else _places(rows),
            None if weights is None else weights_of(weights),
            [] if columns is None else columns_of(columns),
        )

    @classmethod
    def from_arrow(cls, caches: Iterable[Cache], table: Any) -> Self:
        """Make the population that a table describes.

        Args:
            caches: The caches that the identities in the table refer to.
            table: Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: int64 columns ``cache_id``
                and ``sample_id``; optionally ``weight``, float64 (all null means unweighted); other columns
                become extra columns.

        Raises:
            SchemaError: A required column is missing or has another type; an extra column's type is refused.
            ValueError: An identity is unknown, a weight is negative or not finite; the message names the row.
            TypeError: The table does not speak the Arrow PyCapsule interface.
        """
        caches = _checked(caches)
        check_names_of(table)
        return cls._of(caches, _native.Population.from_arrow([cache._native for cache in caches], table))

    @classmethod
    def _of(cls, caches: tuple[Cache, ...], native: _native.Population) -> Self:
        population = cls.__new__(cls)
        population._caches = caches
        population._native = native
        return population

    def with_weights(self, weights: ArrayLike | None) -> Self:
        """Return the same rows and columns with other weights; None means unweighted.

        Args:
            weights: float64, finite, >= 0, one per row.

        Raises:
            ValueError: A weight is negative or not finite; the message names the row.
            SchemaError: There are not as many as rows.
        """
        given = None if weights is None else weights_of(weights)
        return self._of(self._caches, self._native.with_weights(given))

    @property
    def population(self) -> Self:
        """This population itself."""
        return self

    @property
    def caches(self) -> tuple[Cache, ...]:
        """The caches, in order."""
        return self._caches

    @property
    def fields(self) -> Mapping[str, FieldInfo]:
        """The payload fields that every cache has, by name; codecs are those of the first cache."""
        return MappingProxyType({field[0]: FieldInfo(*field) for field in self._native.fields()})

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weights, read-only float64 ``[rows]``, or None if there are none.

        Raises:
            SchemaError: Some caches store weights and some do not; the message names them.
            FormatError: Stored weights are damaged (R030, R041 to R046).
        """
        weights = self._native.weights()
        return None if weights is None else np.frombuffer(weights, np.float64)

    @property
    def rows_digest(self) -> str:
        """A digest of caches and rows as 64 hex digits, part of a loader's state."""
        return self._native.rows_digest()

    @property
    def weights_digest(self) -> str | None:
        """A digest of the weights as 64 hex digits, or None if there are none."""
        return self._native.weights_digest()

    def gather(
        self, rows: Rows, fields: Fields | None = None, *, out: Out | None = None, errors: Errors = "raise"
    ) -> Batch:
        """Return the samples at `rows` as a batch, gathered in one native call without the GIL.

        Args:
            rows: A slice, or a list or 1-D array of integers; negative ones count from the end.
            fields: What the batch holds: payload fields, metadata columns, extra columns and the built-ins
                ``_row``, ``_position`` (the row here), ``_seed``, ``_valid``, ``cache_id``, ``sample_id`` and
                ``weight``. All but the built-ins by default, and so without stored weights. A mapping says
                the dtypes to deliver, too, None for the stored one: ``{"tokens": "int64", "image": None}``.
                Elements are widened while they are read, and only to a type that holds every value of the
                stored one: bool and integers to integers; integers of 8 bits to float16, bfloat16, float32
                and float64, of 16 bits to float32 and float64, of 32 bits to float64; floats to wider floats;
                complex64 to complex128. Dense and ragged fields and columns of numbers can be widened; text,
                bytes, times and the built-ins come in one way only.
            out: Where the batch lies; memory of the engine's by default. Either a dict with an array for each
                column, C-contiguous, writable and of exactly its dtype and shape ``[rows, ...]``; the batch
                holds these very arrays (and a new ``_valid``, where that comes by itself and is not among
                them). Columns that are no arrays (ragged, text, bytes and strings) cannot be given so. Or a
                function, which is called once with the size of the whole batch in bytes, unless that is 0,
                and returns an object with a writable buffer of exactly that size at an address that is a
                multiple of 64; the arrays of the batch view it. After an error, what the memory holds means
                nothing.
            errors: ``"mask"`` delivers a damaged record as zero or empty, and ``_valid`` says which rows are
                whole.

        Raises:
            DataError: A record is damaged; the message names cache, field, shard and sample.
            SchemaError: A name is unknown, and the message lists what there is; or not every value could be
                delivered as the dtype that is asked for, and the message lists those that are possible.
            IndexError: A row is out of range.
            ValueError: A numeric or temporal column holds a null among the rows. An array of `out` does not
                fit or shares memory with another, or what its function returned does not fit. Arrays are
                compared before anything is read.
            Exception: What the function of `out` raises.
        """
        places, asked, mask = rows_of(rows, len(self), "row"), asked_of(fields), masks(errors)
        if out is None:
            return batch_of(self._native, places, asked, mask)
        return batch_in(out, self._native, places, asked, mask)

    def ids(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the identities of the samples at `rows`: cache_id and sample_id, int64 ``[rows]`` each.

        Raises:
            IndexError: A row is out of range.
        """
        batch = self.gather(rows, ["cache_id", "sample_id"])
        return batch["cache_id"], batch["sample_id"]

    def _rows(self) -> NDArray[np.int64] | None:
        """Return the rows as places in the concatenation of the caches; None for all of them in order."""
        rows = self._native.rows()
        return None if rows is None else np.frombuffer(rows, np.int64)

    def _columns(self) -> dict[str, str]:
        """Return the names of metadata and extra columns and the words for their types."""
        return dict(self._native.columns())

    def __len__(self) -> int:
        return len(self._native)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a population is not pickled; send its caches (which pickle as path and digest), rows and "
            "weights, and make the population there"
        )

    def __copy__(self) -> Self:
        return self  # Nothing can change in it.

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @overload
    def __getitem__(self, index: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: Rows) -> Batch: ...
    def __getitem__(self, index: SupportsIndex | Rows) -> dict[str, Any]:
        return item_of(self._native, index, None, "row")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return samples_of(self._native, None, "row")

    def __repr__(self) -> str:
        caches = ", ".join(cache.path for cache in self._caches)
        return f"<Population of {len(self)} rows of {caches}>"


def _checked(caches: object) -> tuple[Cache, ...]:
    if isinstance(caches, Cache) or not isinstance(caches, Iterable):
        raise TypeError(f"expected a list of caches, such as Population([cache]), not {caches!r}")
    listed = tuple(caches)
    for cache in listed:
        if not isinstance(cache, Cache):
            raise TypeError(f"expected caches opened by Cache.open, found {cache!r}")
    return listed


def _places(rows: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    places = integers_of(rows)
    # Rows are written down here, not asked for: a negative one is a mistake.
    if (places < 0).any():
        first = int((places < 0).argmax())
        raise IndexError(f"row {first} of the population is sample {places[first]}; samples count from 0")
    return places.astype(np.uint64)
