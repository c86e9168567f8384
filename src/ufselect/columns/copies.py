"""Columns that are exact copies of other columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ufselect._utils.types import Indices

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
