"""Values of columns replaced by their ranks, which no outlier and no change of units affects."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.utils import gen_batches

from ufselect._utils.types import Indices

_BLOCK_BYTES = 2**20  # of columns that are ranked together


def centered_ranks(X: Any, strata: Indices) -> Any:
    """Return the ranks of the values of each column within strata, less their mean, as shares of a stratum.

    Equal values share the mean of their ranks; missing values (NaN) have the mean of all, zero. A sparse X, for which
    there is a single stratum, stays sparse: zero is the rank of its zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.columns.ranks import centered_ranks
    >>> centered_ranks(np.array([[1.0], [1000.0], [-3.0], [1.0]]), np.zeros(4, dtype=int)).ravel()
    array([ 0.   ,  0.375, -0.375,  0.   ])
    """
    if sp.issparse(X):
        return _sparse_ranks(sp.csc_array(X, copy=True, dtype=np.float64))
    ranks = np.empty(X.shape)
    for columns in gen_batches(X.shape[1], max(1, _BLOCK_BYTES // (8 * X.shape[0]))):
        for stratum in range(int(strata.max()) + 1):
            members = np.flatnonzero(strata == stratum)
            part = X[members, columns]
            sizes = np.count_nonzero(~np.isnan(part), axis=0)
            found = rankdata(part, axis=0, nan_policy="omit") - (sizes + 1) / 2.0
            ranks[members, columns] = np.nan_to_num(found / np.maximum(sizes, 1))
    return ranks


def _sparse_ranks(X: sp.csc_array) -> sp.csc_array:
    n = X.shape[0]
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        values = X.data[start:stop]
        n_zeros, n_negative = n - len(values), np.count_nonzero(values < 0)
        ranks = rankdata(values) + np.where(values > 0, n_zeros, 0)
        X.data[start:stop] = (ranks - n_negative - (n_zeros + 1) / 2.0) / n
    return X
