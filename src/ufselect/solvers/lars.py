"""Lasso with a number of non-zero coefficients in place of a penalty."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path, lars_path_gram

from ufselect._backend.columns import Columns, Float


def lasso_of_size(X: Columns, y: Float, size: int, *, gram: Float | None = None) -> Float:
    """The last point of the lasso path of y before it has more than ``size`` non-zero coefficients.

    Parameters
    ----------
    X : Columns of shape (n, d)
    y : ndarray of shape (n,)
    size : int
        At most min(n, d) coefficients are ever non-zero.
    gram : ndarray of shape (d, d), optional
        XᵀX where it is at hand; with a ridge on its diagonal it is the elastic net's path.

    Returns
    -------
    ndarray of shape (d,)
    """
    steps = size + 1
    most = 8 * min(X.shape[1], X.shape[0] + size)
    while True:
        path = _path(X, y, steps, gram)
        sizes = np.count_nonzero(path, axis=0)
        # A path may drop coefficients again, so that as many steps need not give as many coefficients.
        if sizes[-1] > size or path.shape[1] <= steps or steps >= most:
            break
        steps = min(2 * steps, most)
    within = np.flatnonzero(sizes <= size)
    beyond = np.flatnonzero(sizes > size)
    last = within[-1] if not len(beyond) else beyond[0] - 1
    return path[:, last]


def _path(X: Columns, y: Float, steps: int, gram: Float | None) -> Float:
    """Coefficients at the corners of the path, by columns, zero first."""
    with warnings.catch_warnings():
        # Dependent columns end a path early; what has been reached by then is still a solution.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if gram is not None:
            inner = X.transposed_matmul(y[:, None])[:, 0]
            _, _, path = lars_path_gram(inner, gram, n_samples=X.shape[0], max_iter=steps, method="lasso")
        else:
            dense = np.asarray(X.columns(slice(None)), dtype=np.float64)
            _, _, path = lars_path(dense, y, max_iter=steps, method="lasso")
    return path
