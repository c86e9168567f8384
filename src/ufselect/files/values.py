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

_BLOCK = 1_000_000  # values of a sparse matrix that are tested together


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
    if not sp.issparse(X):
        for rows in row_blocks(X.shape):
            counts += np.count_nonzero(test(X[rows]), axis=0)
        return counts
    for block in _blocks_of_stored(X):
        counts += np.bincount(_columns_of(X, block)[test(X.data[block])], minlength=X.shape[1])
    return counts


def blocks_of_values(X: Any) -> Iterator[NDArray[Any]]:
    """Yield all values in blocks; of a sparse matrix only those stored."""
    if sp.issparse(X):
        yield from (X.data[block] for block in _blocks_of_stored(X))
    else:
        yield from (X[rows] for rows in row_blocks(X.shape))


def sum_by_column(X: Any, power: int = 1) -> NDArray[np.float64]:
    """Return the sum of a power of the values of each column; missing values are zero."""
    sums = np.zeros(X.shape[1])
    if sp.issparse(X):
        for block in _blocks_of_stored(X):
            sums += np.bincount(_columns_of(X, block), _known(X.data[block]) ** power, minlength=len(sums))
        return sums
    for rows in row_blocks(X.shape):
        sums += np.sum(_known(X[rows]) ** power, axis=0)
    return sums


def sum_by_row(X: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted sum of the values of each row; missing values are zero."""
    if not sp.issparse(X):
        return np.concatenate([_known(X[rows]) @ weights for rows in row_blocks(X.shape)])
    sums = np.zeros(X.shape[0])
    for block in _blocks_of_stored(X):
        weighted = _known(X.data[block]) * weights[_columns_of(X, block)]
        sums += np.bincount(_columns_of(X.T, block), weighted, minlength=len(sums))
    return sums


def _known(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.nan_to_num(values.astype(np.float64), copy=False)


def _blocks_of_stored(X: Any) -> Iterator[slice]:
    for start in range(0, X.nnz, _BLOCK):
        yield slice(start, min(start + _BLOCK, X.nnz))


def _columns_of(X: Any, block: slice) -> NDArray[Any]:
    """Return the columns of the stored values of a block."""
    if X.format == "csr":
        return np.asarray(X.indices[block])
    return np.searchsorted(X.indptr, np.arange(block.start, block.stop), side="right") - 1


def _numbers_by_name(table: Table, test: Callable[[Any], Any]) -> dict[str, int]:
    counts = number_by_column(table.X, test)
    worst_first = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    return {table.names[j]: int(counts[j]) for j in worst_first}
