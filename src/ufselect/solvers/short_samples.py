"""Samples in as few coordinates as there are samples."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky

from ufselect.columns.dense import Columns

_WORTH_A_FACTOR = 0.5  # samples for a column up to which fewer coordinates save more time than they take
_SMALLEST_PIVOT = 1e-6  # squared, for a sample of unit length; samples that nearly coincide stay as they are


def in_few_coordinates(X: Columns) -> Columns:
    """Samples L with LLᵀ = XXᵀ, which have the same distances and angles, in n coordinates; X itself if n is not small.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.columns.dense import Columns
    >>> X = Columns(np.random.default_rng(0).random((5, 100)))
    >>> short = in_few_coordinates(X)
    >>> short.shape
    (5, 5)
    >>> bool(np.allclose(short.row_gram(), X.row_gram()))
    True
    """
    n, d = X.shape
    if n > _WORTH_A_FACTOR * d or sp.issparse(X.values) or X.dtype != np.float64:
        return X
    products = X.row_gram()
    lengths = products.diagonal().copy()
    try:
        # The transpose of an upper factor in the order of Fortran is a lower one by rows.
        L = cholesky(products.T, lower=False, overwrite_a=True, check_finite=False).T
    except LinAlgError:
        return X
    return X if np.any(L.diagonal() ** 2 <= _SMALLEST_PIVOT * lengths) else Columns(L)
