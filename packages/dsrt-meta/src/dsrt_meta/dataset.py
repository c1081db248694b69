"""`Dataset`: a cache opened together with its active rows, their weights and extra columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrt_format import fingerprint
from dsrt_meta import columns, edits, summary
from dsrt_meta.table import Table
from dsrt_native import Cache, Population
from dsrt_native.arguments import whole
from dsrt_native.cache import Io
from dsrt_native.field import FieldInfo
from dsrt_native.gather import Rows
from dsrt_native.order import rows as order_rows

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Dataset"]


class Dataset:
    """Samples of a cache, chosen and weighed with Polars.

    A dataset is over one cache, so far. It has rows: each is one sample of the cache, with its metadata, an
    optional weight and any number of extra columns. It begins with all samples, once each, in their order.
    Every edit returns a new dataset and leaves this one, and loaders made from it, as they are. Payloads are
    read only by indexing and by loaders.

    Open one with `Dataset.open`. A `Loader` of dsrt-native or dsrt-torch takes it as it is.
    """

    def __init__(
        self, population: Population, table: Table | None = None, extra: pl.DataFrame | None = None
    ) -> None:
        if table is None or extra is None:
            raise TypeError(f"datasets are opened by Dataset.open(path), not made of {population!r}")
        self._population = population
        self._table = table
        self._extra = extra

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = True, io: Io = "auto") -> Dataset:
        """Open a cache with all its samples, weighted by its column `weight` if it has one.

        Args:
            path: The directory of a published cache.
            verify: Whether every read compares checksums of records; everything else is checked in any case.
            io: How files are read, as `dsrt_native.Cache.open` explains: ``"mmap"``, ``"pread"``, or
                ``"auto"``, which is ``"pread"`` on network file systems.

        Raises:
            NotPublishedError: There is no cache at the path.
            FormatError: The cache is damaged or not of this version of the format.
            ValueError: `io` is none of the three words.
        """
        import polars as pl

        cache = Cache.open(path, verify=verify, io=io)
        return cls(Population([cache]), Table(cache), pl.DataFrame())

    @property
    def population(self) -> Population:
        """The rows, weights and extra columns, for loaders and for gathering without Polars."""
        return self._population

    @property
    def caches(self) -> tuple[Cache, ...]:
        """The opened caches; so far always one."""
        return self._population.caches

    @property
    def fields(self) -> Mapping[str, FieldInfo]:
        """The payload fields by name, each with `.kind`, `.dtype`, `.shape` and `.codec`."""
        return self._population.fields

    @property
    def metadata(self) -> pl.DataFrame:
        """One line per row: cache_id, sample_id, the stored columns, weight, the extra columns.

        `cache_id` and `sample_id` are Int64. `weight` is Float64 and null where it is unset. The stored
        columns of a dataset with all rows are not copied where the file is mapped. The frame is the caller's:
        what is changed in it is not changed in the dataset.

        Raises:
            FormatError: The metadata of the cache is damaged.
            ValueError: The cache has more samples than Polars counts: 2^32-1, unless it was installed with
                indexes of 64 bits, as ``polars[rt64]``.
        """
        return self._frame.clone()

    @cached_property
    def _frame(self) -> pl.DataFrame:
        """What expressions see. Polars changes frames in place, so nobody else gets this one."""
        return self._table.frame(self._population, self._extra)

    def lazy(self) -> pl.LazyFrame:
        """Return `metadata` as a LazyFrame."""
        return self._frame.lazy()

    @cached_property
    def digest(self) -> str:
        """64 hex digits that stand for the rows in their order and their weights, not for extra columns."""
        return fingerprint(self._population.rows_digest, self._population.weights_digest)

    def __len__(self) -> int:
        return len(self._population)

    def __getitem__(self, index: SupportsIndex | Rows) -> dict[str, Any]:
        """Read samples: payload fields, metadata and extra columns by name.

        Args:
            index: An int gives one sample: an array, str or bytes per field; a bool, int, float, str, bytes,
                `numpy.datetime64` or `numpy.timedelta64` per column, and None for null. A slice or a list of
                ints gives a batch in that order, as a loader would: dense fields as arrays `[samples, ...]`,
                ragged ones as `RaggedArray`, text and bytes as lists. Negative ints count from the end.

        Raises:
            IndexError: A row is out of range.
            TypeError: The index is a string (columns are in `.metadata`) or a list of booleans.
            ValueError: A numeric column holds a null among the rows of a batch.
            DataError: A record is damaged.
        """
        if isinstance(index, str):
            raise TypeError(
                f"dataset[{index!r}]: a dataset is indexed by rows; a column is dataset.metadata[{index!r}], "
                f"the records of a field are dataset[:][{index!r}]"
            )
        return self._population[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Read all samples in order, as an int gives each."""
        return iter(self._population)

    def filter(self, *predicates: pl.Expr | pl.Series) -> Dataset:
        """Keep the rows where every predicate is true; null is not true.

        Args:
            *predicates: Boolean Polars expressions over the columns of `metadata`.

        Raises:
            SchemaError: A predicate is not one boolean column.
            TypeError: A predicate is no expression and no series.
            polars.exceptions.ColumnNotFoundError: A predicate names a column that is not there.
        """
        return self._at(edits.kept(self._frame, predicates))

    def select_rows(self, rows: Sequence[int] | NDArray[np.integer[Any]] | pl.Series) -> Dataset:
        """Take rows by number, in that order and as often as they are named.

        Args:
            rows: Integers from 0 to `len(self) - 1`.

        Raises:
            IndexError: A row is negative or too large.
            TypeError: `rows` does not consist of integers.
        """
        return self._at(edits.selected(rows, len(self)))

    def sort(
        self, by: str | pl.Expr | Sequence[str | pl.Expr], *, descending: bool | Sequence[bool] = False
    ) -> Dataset:
        """Order the rows by columns or expressions; equal rows keep their order, nulls come first.

        Args:
            by: A column name, an expression, or several of them.
            descending: Largest first; one bool, or one per key.
        """
        return self._at(edits.sorted_by(self._frame, by, descending))

    def sample(self, n: int, *, seed: int = 0) -> Dataset:
        """Draw `n` different rows at random; weights do not count.

        They are the first `n` slots of the permuted order of this seed, so that a larger sample begins with a
        smaller one.

        Args:
            n: How many, at most `len(self)`.
            seed: 0 to 2**64 - 1.

        Raises:
            ValueError: `n` is negative or more than there are.
        """
        if whole("n", n, 0) > len(self):
            raise ValueError(
                f"sample: {n} of {len(self)} rows cannot be drawn without replacement; to repeat rows, use "
                "select_rows, or a loader with order='uniform'"
            )
        return self._at(order_rows("permuted", len(self), seed, 0, n) if n else np.empty(0, np.int64))

    def head(self, n: int) -> Dataset:
        """Keep the first `n` rows, or all if there are fewer.

        Raises:
            ValueError: `n` is negative.
        """
        return self._at(np.arange(min(whole("n", n, 0), len(self))))

    def with_weights(self, weights: pl.Expr | pl.Series | ArrayLike | None) -> Dataset:
        """Weigh the rows: a loader draws each with a probability proportional to its weight.

        Args:
            weights: An expression over the columns of `metadata`, such as ``1 / pl.len().over("label")``; an
                array of `len(self)` numbers; or None to remove the weights, stored ones too.

        Raises:
            ValueError: A weight is negative, not finite or null.
            SchemaError: There is not one for each row; or an expression is not one column.
            TypeError: `weights` does not consist of numbers.
        """
        import polars as pl

        if isinstance(weights, str):
            raise TypeError(
                f"with_weights: {weights!r} is a string; a column is given as pl.col({weights!r})"
            )
        if isinstance(weights, pl.Expr | pl.Series):
            weights = edits.weights(self._frame, weights)
        return type(self)(self._population.with_weights(weights), self._table, self._extra)

    def with_columns(self, *exprs: Any, **named: Any) -> Dataset:
        """Add extra columns, or replace earlier extra columns; they are delivered with the samples.

        Args:
            *exprs: Whatever `polars.DataFrame.with_columns` takes, over the columns of `metadata`.
            **named: The same, by the name of the column.

        Raises:
            SchemaError: A name is that of a payload field or a stored column, or a type cannot be delivered.
        """
        added = edits.added(self._frame, exprs, named)
        columns.check_names(added.columns, stored=self._table.stored.columns, fields=self.fields)
        columns.check_types(added)
        extra = self._extra.with_columns(added.iter_columns()) if self._extra.width else added
        return self._over(self._population._rows(), self._population.weights, extra)

    def __repr__(self) -> str:
        return summary.text(self)

    def _at(self, positions: NDArray[np.int64]) -> Dataset:
        """Return a dataset of some rows of this one, with their weights and extra columns."""
        import polars as pl

        rows, weights = self._population._rows(), self._population.weights
        extra = self._extra
        if extra.width:
            extra = extra.select(pl.all().gather(pl.Series(positions)))
        return self._over(
            positions if rows is None else rows[positions],
            None if weights is None else weights[positions],
            extra,
        )

    def _over(
        self, rows: NDArray[np.int64] | None, weights: NDArray[np.float64] | None, extra: pl.DataFrame
    ) -> Dataset:
        population = Population(
            self.caches, rows=rows, weights=weights, columns=extra if extra.width else None
        )
        if weights is None:
            # Else a cache's stored weights would come back after they were removed.
            population = population.with_weights(None)
        return type(self)(population, self._table, extra)
