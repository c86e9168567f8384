"""Lasso with a given number of nonzero coefficients instead of a penalty."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path, lars_path_gram
from sklearn.utils import gen_batches

from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns

_CANDIDATES = 6
_FEWEST_CANDIDATES = 200
_NEAR = 0.6
_KNOTS_APART = 4
_SPARE_STEPS = 8
_ROUNDING = 1e-9
_COLUMNS_AT_ONCE = 512


def lasso_of_size(X: Columns, y: Float, size: int, *, gram: Float | None = None) -> Float:
    """Return the last point of the lasso path of y with at most ``size`` nonzero coefficients.

    ``gram`` is XᵀX, if available; with a ridge on its diagonal the path is that of the elastic net.
    """
    inner = X.transposed_matmul(y[:, None])[:, 0]
    unit = float(np.abs(inner).max()) / X.shape[0]
    if unit == 0.0:
        return np.zeros(X.shape[1])
    # scikit-learn stops at an absolute penalty, so y is scaled.
    if gram is None:
        return unit * _screened(X, y / unit, size)
    inner = inner / unit
    path_of = partial(_path, partial(lars_path_gram, inner, gram, n_samples=X.shape[0]))
    return unit * _up_to_size(path_of, size, min(X.shape), size + size // 4 + _SPARE_STEPS)[:, -1]


def first_of_opposites(gram: Float) -> npt.NDArray[np.bool_]:
    """Return which columns are neither equal nor opposite to one before them, up to rounding, given XᵀX.

    A path has no use for the others, and rounding would choose which of them enters it.
    """
    squares = gram.diagonal()
    first = np.ones(len(gram), dtype=bool)
    for block in gen_batches(len(gram), _COLUMNS_AT_ONCE):
        alike = np.abs(gram[:, block]) >= (1.0 - _ROUNDING) * np.maximum(squares[:, None], squares[block])
        first[block] = np.argmax(alike, axis=0) == np.arange(block.start, block.stop)
    return first


def _screened(X: Columns, y: Float, size: int) -> Float:
    """Compute the path on the columns that come close to entering it, adding columns until no other would enter.

    Correlations with the residual are linear between the knots of the path, and so is the largest of them: a column
    that stays below it at all knots does not enter. A first path, on the columns most correlated with y, shows which
    columns come close and how many steps are needed.
    """
    start = np.abs(X.transposed_matmul(y[:, None])[:, 0])
    candidates = np.sort(np.argsort(-start, kind="stable")[: max(_CANDIDATES * size, _FEWEST_CANDIDATES)])
    columns = np.asarray(X.columns(candidates), dtype=np.float64)
    first = _path(partial(lars_path, columns, y), size + size // 4)
    steps = first.shape[1] * (size + 1) // max(int(np.count_nonzero(first[:, -1])), 1) + _SPARE_STEPS
    some_knots = first[:, ::_KNOTS_APART]
    candidates = np.flatnonzero(_nearness(X, y[:, None] - columns @ some_knots, candidates) > _NEAR)
    while True:
        columns = np.asarray(X.columns(candidates), dtype=np.float64)
        path = _up_to_size(partial(_path, partial(lars_path, columns, y)), size, min(columns.shape), steps)
        nearness = _nearness(X, y[:, None] - columns @ path, candidates)
        if not (np.delete(nearness, candidates) > 1.0 + _ROUNDING).any():
            break
        candidates = np.union1d(candidates, np.flatnonzero(nearness > _NEAR))
    coef = np.zeros(X.shape[1])
    coef[candidates] = path[:, -1]
    return coef


def _nearness(X: Columns, residuals: Float, candidates: Indices) -> Float:
    """Return the largest correlation of every column over all knots, relative to the largest of the candidates."""
    correlations = X.transposed_matmul(residuals)
    np.abs(correlations, out=correlations)
    correlations /= np.maximum(correlations[candidates].max(axis=0), np.finfo(float).tiny)
    return correlations.max(axis=1)


def _up_to_size(path_of: Callable[[int], Float], size: int, most_nonzero: int, steps: int) -> Float:
    """Return the knots of a path, from zero up to the last one with at most ``size`` nonzero coefficients."""
    most_steps = 8 * (most_nonzero + size)
    while True:
        path = path_of(steps)
        # In use between two knots: a coefficient that leaves is zero, up to rounding, at the second one.
        used = path != 0.0
        beyond = np.flatnonzero(np.count_nonzero(used[:, 1:] | used[:, :-1], axis=0) > size)
        if len(beyond):
            return path[:, : beyond[0] + 1]
        # A path can drop coefficients again, so it may need more steps than coefficients.
        if path.shape[1] <= steps or steps >= most_steps:
            return path
        steps = min(steps + steps // 2, most_steps)


def _path(solve: Callable[..., Any], steps: int) -> Float:
    """Return the knots of a path; dependent columns end it early, but what it has reached by then is a solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, _, path = solve(max_iter=steps, method="lasso")
    return path
