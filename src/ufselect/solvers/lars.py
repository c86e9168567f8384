"""Lasso with a number of non-zero coefficients in place of a penalty."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path, lars_path_gram

from ufselect._backend.columns import Columns, Float, Indices

_CANDIDATES = 6
_FEWEST_CANDIDATES = 200
_NEAR = 0.6
_CORNERS_APART = 4
_SPARE_STEPS = 8
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
    path_of = partial(_path_from_gram, inner, gram, X.shape[0])
    return unit * _up_to_size(path_of, size, min(X.shape), size + size // 4 + _SPARE_STEPS)[:, -1]


def _screened(X: Columns, y: Float, size: int) -> Float:
    """The path among columns that come near to entering it, and among more of them until no other would have entered.

    Along the path, correlations with the residual are linear between its corners, and so is the largest of them: a
    column that stays below it at all corners has no part in the path. Which columns come near is first seen along a
    path among those most correlated with y, which also tells how many steps it takes.
    """
    start = np.abs(X.transposed_matmul(y[:, None])[:, 0])
    candidates = np.sort(np.argsort(-start, kind="stable")[: max(_CANDIDATES * size, _FEWEST_CANDIDATES)])
    columns = np.asarray(X.columns(candidates), dtype=np.float64)
    first = _path_from_columns(columns, y, size + size // 4)
    steps = first.shape[1] * (size + 1) // max(int(np.count_nonzero(first[:, -1])), 1) + _SPARE_STEPS
    some_corners = first[:, ::_CORNERS_APART]
    candidates = np.flatnonzero(_nearness(X, y[:, None] - columns @ some_corners, candidates) > _NEAR)
    while True:
        columns = np.asarray(X.columns(candidates), dtype=np.float64)
        path = _up_to_size(partial(_path_from_columns, columns, y), size, min(columns.shape), steps)
        nearness = _nearness(X, y[:, None] - columns @ path, candidates)
        if not (np.delete(nearness, candidates) > 1.0 + _ROUNDING).any():
            break
        candidates = np.union1d(candidates, np.flatnonzero(nearness > _NEAR))
    coef = np.zeros(X.shape[1])
    coef[candidates] = path[:, -1]
    return coef


def _nearness(X: Columns, residuals: Float, candidates: Indices) -> Float:
    """How near every column comes to the largest correlation of a candidate, at any corner; 1 for those in use."""
    correlations = X.transposed_matmul(residuals)
    np.abs(correlations, out=correlations)
    correlations /= np.maximum(correlations[candidates].max(axis=0), np.finfo(float).tiny)
    return correlations.max(axis=1)


def _up_to_size(path_of: Callable[[int], Float], size: int, most_nonzero: int, steps: int) -> Float:
    """The corners of a path, zero first, up to the last one before it has more than ``size`` non-zero coefficients."""
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
        steps = min(steps + steps // 2, most_steps)


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
