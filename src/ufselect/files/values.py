"""Missing, infinite and negative values of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect._utils.wording import shortened
from ufselect.files.table import Table, row_blocks

_BLOCK = 1_000_000  # stored values of a sparse matrix, on average


def missing_values(table: Table) -> dict[str, int]:
    """Return the number of missing values of each column that has any, most first."""
    return _numbers_by_name(table, np.isnan)


def infinite_values(table: Table) -> dict[str, int]:
    """Return the number of infinite values of each column that has any, most first."""
    return _numbers_by_name(table, np.isinf)


def negative_values(table: Table) -> dict[str, int]:
    """Return the number of negative values of each column that has any, most first."""
    return _numbers_by_name(table, lambda values: values < 0)


def with_medians(table: Table) -> Table:
    """Return the table with missing values replaced by the median of their column; it must have some value."""
    columns = np.flatnonzero(number_by_column(table.X, np.isnan))
    if not len(columns):
        return table
    X = table.X.tocsc(copy=True) if sp.issparse(table.X) else table.X.copy()
    for j in columns:
        column = X.data[X.indptr[j] : X.indptr[j + 1]] if sp.issparse(X) else X[:, j]
        missing = np.isnan(column)
        n_zeros = table.shape[0] - len(column)
        if missing.all() and not n_zeros:
            raise ValueError(
                f"All values of column {shortened(table.names[j])!r} are missing; set it aside or remove it."
            )
        column[missing] = np.median(np.concatenate([column[~missing], np.zeros(n_zeros, column.dtype)]))
    return replace(table, X=X.asformat(table.X.format) if sp.issparse(X) else X)


def number_by_column(X: Any, test: Callable[[Any], Any]) -> NDArray[np.int64]:
    """Return the number of values of each column that pass a test, which zero must not."""
    counts = np.zeros(X.shape[1], dtype=np.int64)
    for _, columns, block in _blocks(X):
        counts[columns] += np.asarray(_applied(block, test).sum(axis=0)).ravel()
    return counts


def blocks_of_values(X: Any) -> Iterator[NDArray[Any]]:
    """Yield all values in blocks; of a sparse matrix only those stored."""
    return (block.data if sp.issparse(X) else block for _, _, block in _blocks(X))


def sum_by_column(X: Any, power: int = 1) -> NDArray[np.float64]:
    """Return the sum of a power of the values of each column; missing values are zero."""
    sums = np.zeros(X.shape[1])
    for _, columns, block in _blocks(X):
        sums[columns] += np.asarray(_applied(block, lambda values: _known(values) ** power).sum(axis=0)).ravel()
    return sums


def sum_by_row(X: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted sum of the values of each row; missing values are zero."""
    sums = np.zeros(X.shape[0])
    for rows, columns, block in _blocks(X):
        sums[rows] += _applied(block, _known) @ weights[columns]
    return sums


def _blocks(X: Any) -> Iterator[tuple[slice, slice, Any]]:
    """Yield parts of a table with a bounded number of values, and their rows and columns."""
    whole = slice(None)
    if not sp.issparse(X):
        yield from ((rows, whole, X[rows]) for rows in row_blocks(X.shape))
        return
    by_row = X.format == "csr"
    length = X.shape[0] if by_row else X.shape[1]
    step = max(1, length * _BLOCK // max(1, X.nnz))
    for start in range(0, length, step):
        some = slice(start, start + step)
        yield (some, whole, X[some]) if by_row else (whole, some, X[:, some])


def _applied(block: Any, function: Callable[[Any], Any]) -> Any:
    """Return the values of a function; of a sparse matrix it is applied to those stored."""
    if not sp.issparse(block):
        return function(block)
    return type(block)((function(block.data), block.indices, block.indptr), shape=block.shape)


def _known(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.nan_to_num(values.astype(np.float64), copy=False)


def _numbers_by_name(table: Table, test: Callable[[Any], Any]) -> dict[str, int]:
    counts = number_by_column(table.X, test)
    worst_first = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    return {table.names[j]: int(counts[j]) for j in worst_first}
