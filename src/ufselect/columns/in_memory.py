"""The data matrix in memory, before columns are left out, centred and scaled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ufselect._utils.policy import LARGEST_VALUE
from ufselect._utils.types import Float, Indices, Mask
from ufselect.columns.batches import Batches, sparse_within_batches
from ufselect.columns.dense import Columns, canonical
from ufselect.columns.moments import (
    column_extremes,
    column_statistics,
    constant_columns,
    magnitudes,
    rounded_columns,
    warn_of_rounding,
    why_nothing_is_informative,
)

_BLOCK_BYTES = 2**25


class Matrix(Protocol):
    """X as it is given, wherever it lives: what a fit asks of it before columns are left out, centred and scaled."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def constant_columns(self, scale: str | None, names: Sequence[str] | None) -> Mask:
        """Return which columns hold only one value, up to rounding; raise an error if X cannot be fitted."""

    def statistics(self, names: Iterable[str]) -> Mapping[str, Float]:
        """Return statistics of every column by name, see :func:`ufselect.columns.moments.column_statistics`."""

    def first_equal_columns(self) -> Indices:
        """Return for every column the index of the first column with the same values, which may be itself."""

    def prepared(self, index: Indices, *, center: bool, scale: str | None) -> Columns:
        """Return some columns, centred and scaled."""

    def rows(self, index: Indices) -> Any:
        """Return some rows as they are, in memory."""

    def computing(self) -> AbstractContextManager[None]:
        """Return a context for the products of a fit."""


class MatrixInMemory:
    """X as a NumPy or sparse array, with samples in batches if there are any."""

    def __init__(self, X: Any, batch: Any = None) -> None:
        self._X = canonical(X)
        self.batches = None if batch is None else Batches.of(batch, X.shape[0])
        self.shape: tuple[int, int] = X.shape
        self.dtype: np.dtype[Any] = X.dtype
        self._extremes = column_extremes(self._X)

    def constant_columns(self, scale: str | None, names: Sequence[str] | None) -> Mask:
        """Return which columns hold only one value, up to rounding; raise an error if X cannot be fitted."""
        X, extremes = self._X, self._extremes
        size, limits = magnitudes(extremes), np.finfo(self.dtype)
        enormous = np.flatnonzero(size > LARGEST_VALUE)
        if len(enormous):
            raise ValueError(
                f"Column {enormous[0]} of X has a value of magnitude {size[enormous[0]]:.0e}, too large to be squared. "
                f"Scale X to values of at most {LARGEST_VALUE:.0e}."
            )
        constant = self.is_constant(scale)
        if constant.all():
            within = "" if self.batches is None else " within every batch"
            varies = extremes[0] < extremes[1]
            raise ValueError(why_nothing_is_informative(size, varies, self.shape[0], limits, within))
        warn_of_rounding(rounded_columns(X, extremes), size, limits, names)
        return constant

    def is_constant(self, scale: str | None) -> Mask:
        """Return which columns hold only one value, up to rounding, or one in every batch."""
        constant = constant_columns(self._X, self._extremes, scale=scale)
        return constant if self.batches is None else constant | self.batches.constant_columns(self._X, scale=scale)

    def statistics(self, names: Iterable[str]) -> Mapping[str, Float]:
        """Return statistics of every column by name, see :func:`ufselect.columns.moments.column_statistics`."""
        return column_statistics(self._X, names)

    def first_equal_columns(self) -> Indices:
        """Return for every column the index of the first column with the same values, which may be itself."""
        return first_equal_columns(self._X, self._extremes)

    def rows(self, index: Indices) -> Any:
        """Return some rows as they are; their indices ascend."""
        if len(index) == self.shape[0]:
            return self._X
        return self._X.tocsr()[index] if sp.issparse(self._X) else self._X[index]

    def computing(self) -> AbstractContextManager[None]:
        """Return a context for the products of a fit: nothing is to be set."""
        return nullcontext()

    def values(self, index: Indices) -> Any:
        """Return the values of some columns, less the means of batches if they are dense."""
        kept = self._X if np.array_equal(index, np.arange(self.shape[1])) else self._X[:, index]
        if sp.issparse(kept):  # centring is a difference of products, for which single precision is not enough
            return kept.astype(np.float64)
        # A slice of columns is laid out differently in memory, and sums over it round differently.
        kept = np.ascontiguousarray(kept)
        return kept if self.batches is None else self.batches.without_means(kept)

    def prepared(self, index: Indices, *, center: bool, scale: str | None) -> Columns:
        """Return some columns, centred, within batches if there are any, and scaled."""
        values = self.values(index)
        if self.batches is not None and sp.issparse(values):
            return sparse_within_batches(values, self.batches, center=center, scale=scale)
        return Columns.prepared(values, center=center, scale=scale)


def first_equal_columns(X: Any, extremes: tuple[Any, Any]) -> Indices:
    """Return for every column the index of the first column with the same values, which may be itself.

    A sparse X is in canonical format. Columns whose smallest or largest values differ are not compared.
    """
    doubtful = columns_of_equal_extremes(extremes)
    return first_of_equal_content(X.shape[1], doubtful, _contents(X, doubtful))


def columns_of_equal_extremes(extremes: tuple[Any, Any]) -> Indices:
    """Return the indices of the columns whose smallest and largest value are those of another column."""
    smallest = np.sort(extremes[0])
    if not np.any(smallest[1:] == smallest[:-1]):
        return np.empty(0, dtype=np.intp)
    order = np.lexsort(extremes)
    alike = np.all([values[order[1:]] == values[order[:-1]] for values in extremes], axis=0)
    return np.union1d(order[1:][alike], order[:-1][alike])


def first_of_equal_content(n_columns: int, index: Indices, contents: Iterable[bytes]) -> Indices:
    """Return for every column the first one with the same content, which is known of some; for the others itself."""
    first = np.arange(n_columns)
    seen: dict[bytes, int] = {}
    for column, content in zip(index, contents, strict=True):
        first[column] = seen.setdefault(content, int(column))
    return first


def _contents(X: Any, index: Indices) -> Iterator[bytes]:
    """Yield the values of columns as bytes; zero and minus zero are the same value."""
    if sp.issparse(X):
        columns = X.tocsc() if len(index) else X
        for j in index:
            part = slice(columns.indptr[j], columns.indptr[j + 1])
            yield columns.indices[part].tobytes() + columns.data[part].tobytes()
        return
    width = max(1, _BLOCK_BYTES // (X.itemsize * X.shape[0]))
    for start in range(0, len(index), width):
        block = np.ascontiguousarray(X[:, index[start : start + width]].T) + 0.0
        yield from (row.tobytes() for row in block)
