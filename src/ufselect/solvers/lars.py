"""Lasso with a number of non-zero coefficients in place of a penalty."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path, lars_path_gram

from ufselect._backend.columns import Columns, Float

_CANDIDATES = 10
_FEWEST_CANDIDATES = 500
_SPARE_STEPS = 5
_ROUNDING = 1e-9


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
    inner = X.transposed_matmul(y[:, None])[:, 0]
    unit = float(np.abs(inner).max()) / X.shape[0]
    if unit == 0.0:
        return np.zeros(X.shape[1])
    # scikit-learn ends a path at an absolute penalty.
    if gram is None:
        return unit * _screened(X, y / unit, size)
    inner = inner / unit
    return unit * _up_to_size(lambda steps: _path_from_gram(inner, gram, X.shape[0], steps), size, min(X.shape))[:, -1]


def _screened(X: Columns, y: Float, size: int) -> Float:
    """The path among the columns most correlated with y, and among more of them until no other would have entered it.

    Along the path, correlations with the residual are linear between its corners, and so is the largest of them: a
    column that stays below it at all corners has no part in the path.
    """
    d = X.shape[1]
    order = np.argsort(-np.abs(X.transposed_matmul(y[:, None])[:, 0]), kind="stable")
    n_screened = max(_CANDIDATES * size, _FEWEST_CANDIDATES)
    candidates, others = np.sort(order[:n_screened]), order[n_screened:]
    while True:
        columns = np.asarray(X.columns(candidates), dtype=np.float64)
        path = _up_to_size(partial(_path_from_columns, columns, y), size, min(columns.shape))
        residuals = y[:, None] - columns @ path
        largest = np.abs(columns.T @ residuals).max(axis=0)
        missed = np.zeros(d, dtype=bool)
        if len(others):
            correlations = np.abs(X.transposed_matmul(residuals))
            missed = (correlations > largest * (1.0 + _ROUNDING)).any(axis=1)
            missed[candidates] = False
        if not missed.any():
            coef = np.zeros(d)
            coef[candidates] = path[:, -1]
            return coef
        candidates = np.union1d(candidates, np.flatnonzero(missed))


def _up_to_size(path_of: Callable[[int], Float], size: int, most_nonzero: int) -> Float:
    """The corners of a path, zero first, up to the last one before it has more than ``size`` non-zero coefficients."""
    steps = size + max(_SPARE_STEPS, size // 4)
    most_steps = 8 * (most_nonzero + size)
    while True:
        path = path_of(steps)
        # In use on the way to a corner: a coefficient that leaves there is zero at the corner, up to rounding.
        used = path != 0.0
        beyond = np.flatnonzero(np.count_nonzero(used[:, 1:] | used[:, :-1], axis=0) > size)
        if len(beyond):
            return path[:, : beyond[0] + 1]
        # A path may drop coefficients again, so that as many steps need not give as many coefficients.
        if path.shape[1] <= steps or steps >= most_steps:
            return path
        steps = min(2 * steps, most_steps)


def _path_from_gram(inner: Float, gram: Float, n_samples: int, steps: int) -> Float:
    with _dependent_columns_allowed():
        _, _, path = lars_path_gram(inner, gram, n_samples=n_samples, max_iter=steps, method="lasso")
    return path


def _path_from_columns(columns: Float, y: Float, steps: int) -> Float:
    with _dependent_columns_allowed():
        _, _, path = lars_path(columns, y, max_iter=steps, method="lasso")
    return path


@contextmanager
def _dependent_columns_allowed() -> Iterator[None]:
    """Dependent columns end a path early; what has been reached by then is still a solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
