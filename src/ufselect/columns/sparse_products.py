"""Products of sparse matrices that are dense, without a sparse matrix between."""

from __future__ import annotations

from typing import Any

import numpy as np

from ufselect._utils.compiling import compiled
from ufselect._utils.types import Float

_FILLED = 0.15  # share of nonzero values from which a dense product takes less time than a sparse one
_AT_ONCE = 1024


def sparse_product(A: Any, B: Any) -> Float:
    """AB as a dense array."""
    A, B = A.tocsr(), B.tocsr()
    product = np.zeros((A.shape[0], B.shape[1]))
    _add_product(A.indptr, A.indices, A.data, B.indptr, B.indices, B.data, product)
    return product


def sparse_self_product(V: Any) -> Float:
    """VVᵀ as a dense array, with a dense product for the columns that are filled most."""
    V = V.tocsc()
    filled = np.diff(V.indptr) > _FILLED * V.shape[0]
    rest = V[:, np.flatnonzero(~filled)] if filled.any() else V
    rest.sort_indices()
    rows = rest.tocsr()
    product = np.zeros((V.shape[0], V.shape[0]))
    dense = np.flatnonzero(filled)
    for columns in (dense[start : start + _AT_ONCE] for start in range(0, len(dense), _AT_ONCE)):
        part = V[:, columns].toarray()
        for start in range(0, len(product), _AT_ONCE):
            product[start : start + _AT_ONCE, start:] += part[start : start + _AT_ONCE] @ part[start:].T
    _add_self_product(rows.indptr, rows.indices, rows.data, rest.indptr, rest.indices, rest.data, product)
    return product


@compiled
def _add_product(
    row_starts: Any, columns: Any, values: Any, other_starts: Any, other_columns: Any, other_values: Any, product: Any
) -> None:
    """Add AB, both by rows: rows of B, times the values of a row of A."""
    for row in range(len(product)):
        into = product[row]
        for entry in range(row_starts[row], row_starts[row + 1]):
            column, value = columns[entry], np.float64(values[entry])
            for other in range(other_starts[column], other_starts[column + 1]):
                into[other_columns[other]] += value * other_values[other]


@compiled
def _add_self_product(
    row_starts: Any, columns: Any, values: Any, column_starts: Any, rows: Any, column_values: Any, product: Any
) -> None:
    """Add VVᵀ, by rows and by columns with ascending rows, to the upper triangle; copy it to the lower one."""
    first = column_starts[:-1].copy()  # entry of each column in the row that is next
    for row in range(len(product)):
        into = product[row]
        for entry in range(row_starts[row], row_starts[row + 1]):
            column, value = columns[entry], np.float64(values[entry])
            for other in range(first[column], column_starts[column + 1]):
                into[rows[other]] += value * column_values[other]
            first[column] += 1
        for before in range(row):
            into[before] = product[before, row]
