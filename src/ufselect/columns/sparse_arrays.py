"""Sparse arrays as the package needs them: in canonical form, with some columns dense, multiplied by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Float = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_FILLED = 0.15  # share of nonzero values from which a dense product takes less time than a sparse one
_BLOCK_OF_COLUMNS = 1024


def canonical(X: Any) -> Any:
    """Return a sparse X with sorted 32-bit indices, without duplicate entries and without explicit zeros.

    X itself is not modified, and neither are its cached flags. The result shares the arrays of X if they are canonical
    already. A dense X is returned unchanged.
    """
    if not sp.issparse(X):
        return X
    # A new object, because SciPy caches flags in the object that is asked for them.
    clean = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
    if not clean.has_canonical_format:
        clean = clean.copy()
        clean.sum_duplicates()
    if not clean.data.all():
        clean = clean.copy()
        clean.eliminate_zeros()
    return _with_short_indices(clean)


def with_dense_columns(X: sp.csc_array, columns: Indices, dense: Float) -> sp.csc_array:
    """Replace some columns, whose indices ascend, by dense ones."""
    n, lengths = X.shape[0], np.diff(X.indptr)
    is_light = np.ones(X.shape[1], dtype=bool)
    is_light[columns] = False
    kept = np.repeat(is_light, lengths)
    light = sp.csc_array((X.data[kept], X.indices[kept], _pointers(np.where(is_light, lengths, 0))), shape=X.shape)
    rows = np.tile(np.arange(n), len(columns))
    heavy = sp.csc_array((dense.ravel(order="F"), rows, _pointers(np.where(is_light, 0, n))), shape=X.shape)
    return _with_short_indices(sp.csc_array(light + heavy))


def sparse_self_product(V: Any) -> Float:
    """VVᵀ as a dense array, with a dense product for the columns that are filled most."""
    V = V.tocsc()
    filled = np.diff(V.indptr) > _FILLED * V.shape[0]
    rest = V[:, np.flatnonzero(~filled)]
    product = np.asarray((rest @ rest.T).toarray(), dtype=np.float64)
    dense = np.flatnonzero(filled)
    for start in range(0, len(dense), _BLOCK_OF_COLUMNS):
        part = V[:, dense[start : start + _BLOCK_OF_COLUMNS]].toarray()
        product += part @ part.T
    return product


def _pointers(lengths: Any) -> Indices:
    return np.concatenate([[0], np.cumsum(lengths)])


def _with_short_indices(X: Any) -> Any:
    """Convert the indices of X to 32 bits if they fit; parts of scikit-learn require it."""
    if X.nnz <= np.iinfo(np.int32).max:
        X.indices, X.indptr = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
    return X
