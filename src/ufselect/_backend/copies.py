"""Columns that are exact copies of other columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ufselect._backend.columns import Indices

_BLOCK_BYTES = 2**25


def first_equal_columns(X: Any, extremes: tuple[Any, Any]) -> Indices:
    """Return for every column the index of the first column with the same values, which may be itself.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
        A sparse one in canonical format.
    extremes : tuple of ndarray
        The smallest and the largest value of every column: columns with different extremes are not compared.

    Returns
    -------
    ndarray of int of shape (d,)
    """
    first = np.arange(X.shape[1])
    order = np.lexsort(extremes)
    alike = np.all([values[order[1:]] == values[order[:-1]] for values in extremes], axis=0)
    doubtful = np.union1d(order[1:][alike], order[:-1][alike])
    seen: dict[bytes, int] = {}
    for column, content in zip(doubtful, _contents(X, doubtful), strict=True):
        first[column] = seen.setdefault(content, int(column))
    return first


def _contents(X: Any, index: Indices) -> Any:
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
