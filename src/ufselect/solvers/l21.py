"""Row-sparse regression: ‖Y − XW‖² + γ‖W‖₂,₁, solved to its optimality conditions.

With H = Xᵀ(Y − XW) these are H_j = (γ/2) w_j/‖w_j‖ if w_j ≠ 0, and ‖H_j‖ ≤ γ/2 otherwise. Every subproblem is solved
on a working set of columns by their Gram matrix, so that all of X is only used in one product per round. On a working
set, sweeps of block descent are followed by Newton steps in the norms of the rows if these take less time: descent
alone needs thousands of sweeps on correlated columns.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ufselect._utils.compiling import compiled, subtract_multiple
from ufselect._utils.types import Float, Indices
from ufselect.columns.arrays import frobenius_norm
from ufselect.columns.dense import Columns
from ufselect.solvers.l21_newton import l21_solution_by_norms

_SMALLEST_WORKING_SET = 64
_INNER_PRECISION = 0.01
_MOST_ROUNDS = 100
_MOST_BATCHES = 1000
_SWEEPS, _SWEEPS_OF_FEW_TARGETS, _FEW_TARGETS = 3, 10, 5  # sweeps over few targets cost little beside a Newton step
_SWEEPS_PER_SOLUTION = 2
_ROWS_AT_ONCE = 32
_MANY_CORRELATED = 10
_UNRESOLVED = math.sqrt(np.finfo(np.float64).eps)  # cosine below which the Gram matrix, which squares it, is rounding


class Solution(NamedTuple):
    """W, and whether it meets its optimality conditions."""

    coef: Float
    converged: bool


def l21_regression(
    X: Columns,
    Y: Float,
    penalty: float,
    *,
    metric: Any = None,
    gram: Float | None = None,
    products: Float | None = None,
    warm_start: Float | None = None,
    tol: float = 1e-4,
    most_rows: int | None = None,
) -> Solution:
    """Minimise ‖Y − XW‖² + γ‖W‖₂,₁ over W.

    With a metric M, symmetric and positive semi-definite, it is ‖Y‖² − 2tr(YᵀXW) + tr(WᵀXᵀMXW) + γ‖W‖₂,₁; M = I + rL
    adds r tr(WᵀXᵀLXW).

    ``gram`` is XᵀX, or XᵀMX, which replaces all products with X, and ``products`` are XᵀY, if they are available.
    ``tol`` is the largest allowed violation of an optimality condition, as a share of γ/2. The solver stops as soon as
    more rows than ``most_rows`` are nonzero, as the solution has about as many or more; it has not converged then. W is
    zero if Y is orthogonal to all columns up to rounding, as it can be beside an enormous outlier.
    """
    target = X.transposed_matmul(Y) if products is None else products
    if _is_orthogonal(X, gram, Y, target):
        return Solution(np.zeros_like(target), True)
    of_columns, half = _Products(X, metric, gram), penalty / 2.0
    W = np.zeros_like(target) if warm_start is None else warm_start.astype(np.float64)
    working: Indices = np.flatnonzero(W.any(axis=1))
    for _ in range(_MOST_ROUNDS):
        slope = target - of_columns.fitted(W, working)
        worst = _worst_violation(slope, W, half)
        if worst <= tol:
            return Solution(W, True)
        working = _grown_working_set(slope, W, half)
        # The next columns will change the solution, so a higher precision would be wasted.
        inner_tol = max(tol / 2.0, _INNER_PRECISION * worst)
        W[working] = _solve_on_working_set(of_columns.gram(working), target[working], W[working], half, inner_tol)
        if most_rows is not None and np.count_nonzero(W.any(axis=1)) > most_rows:
            break
    return Solution(W, False)


def _is_orthogonal(X: Columns, gram: Float | None, Y: Float, target: Float) -> bool:
    """Return whether what XᵀXW explains of Y would be lost in its rounding errors, so that W could be anything."""
    squares = X.squared_norms() if gram is None else np.diagonal(gram)
    largest = _UNRESOLVED * math.sqrt(float(squares.max())) * frobenius_norm(Y)
    return float(np.linalg.norm(target, axis=1).max()) <= largest


class _Products:
    """XᵀMX, whole or of some columns, from the Gram matrix if it is available."""

    def __init__(self, X: Columns, metric: Any, gram: Float | None) -> None:
        self._X, self._metric, self._gram = X, metric, gram

    def fitted(self, W: Float, working: Indices) -> Float:
        """Return XᵀMXW for a W that is zero outside the working set, by the Gram matrix or the fitted values."""
        if self._gram is not None:
            few = 2 * len(working) <= len(W)
            # Symmetric, and rows are faster to copy than columns; most of them are not worth a copy.
            return (W[working].T @ self._gram[working]).T if few else (W.T @ self._gram).T
        fitted = self._X.subset(working) @ W[working]
        return self._X.transposed_matmul(fitted if self._metric is None else self._metric @ fitted)

    def gram(self, working: Indices) -> Float:
        """XᵀMX of the working set."""
        if self._gram is not None:
            return self._gram[np.ix_(working, working)]
        if self._metric is None:
            return self._X.kept_gram(working)
        columns = np.asarray(self._X.columns(working), dtype=np.float64)
        return columns.T @ (self._metric @ columns)


def _grown_working_set(slope: Float, W: Float, half: float) -> Indices:
    """Return the nonzero rows and at most twice as many of those with the largest violations."""
    in_use = np.linalg.norm(W, axis=1) > 0.0
    violation = np.where(in_use, -np.inf, np.linalg.norm(slope, axis=1) - half)
    room = max(_SMALLEST_WORKING_SET, 2 * int(in_use.sum()))
    violators = np.argsort(-violation, kind="stable")[:room]
    in_use[violators[violation[violators] > 0]] = True
    return np.flatnonzero(in_use)


def _solve_on_working_set(gram: Float, target: Float, W: Float, half: float, tol: float) -> Float:
    """Solve by sweeps of block descent or, if these would take longer, by Newton steps in the norms of the rows."""
    rows_per_dimension = len(gram) / target.shape[1]
    most = _SWEEPS_OF_FEW_TARGETS if W.shape[1] <= _FEW_TARGETS else _SWEEPS
    batch = min(most, max(1, round(rows_per_dimension)))
    if rows_per_dimension >= most and W.any() and _are_correlated(gram):
        W = l21_solution_by_norms(gram, target, W, half, tol)
    slope = target - gram @ W
    violation = _worst_violation(slope, W, half)
    for _ in range(_MOST_BATCHES):
        if violation <= tol:
            break
        last = violation
        # Transposed, so that the long axis is contiguous.
        coef, slope = np.ascontiguousarray(W.T), np.ascontiguousarray(slope.T)
        for _ in range(batch):
            _descend_rows(gram, slope, coef, half)
            violation = _worst_violation(slope.T, coef.T, half)
            if violation <= tol:
                break
        W, slope = coef.T.copy(), slope.T
        # A Newton step costs as much as d/c sweeps, or a few times as much, and a few of them suffice.
        if batch * _batches_left(last, violation, tol) > _SWEEPS_PER_SOLUTION * rows_per_dimension:
            W = l21_solution_by_norms(gram, target, W, half, tol)
            slope = target - gram @ W
            violation = _worst_violation(slope, W, half)
    return W


def _are_correlated(gram: Float) -> bool:
    """Return whether columns are correlated with many others: sweeps are slow, and let in rows that do not stay."""
    return float(np.vdot(gram, gram)) > _MANY_CORRELATED * float(np.sum(np.diagonal(gram) ** 2))


def _batches_left(before: float, after: float, tol: float) -> float:
    """Return how often a violation has to shrink as it did last time to reach ``tol``."""
    if after <= tol:
        return 0.0
    return math.log(after / tol) / math.log(before / after) if after < before else math.inf


def _worst_violation(slope: Float, W: Float, half: float) -> float:
    """Return the largest violation of an optimality condition, as a share of γ/2."""
    length = np.linalg.norm(W, axis=1, keepdims=True)
    in_use = length > 0.0
    unit = np.divide(W, length, out=np.zeros_like(W), where=in_use)
    off = np.linalg.norm(slope - half * unit, axis=1) - half * ~in_use.ravel()
    return max(float(off.max()), 0.0) / half


@compiled
def _descend_rows(gram: Any, slope: Any, coef: Any, penalty: float) -> None:
    """One sweep of block descent over ½tr(WᵀGW) − tr(WᵀC) + λ Σⱼ‖wⱼ‖, in place, given Wᵀ and (C − GW)ᵀ."""
    d = coef.shape[1]
    for start in range(0, d, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, d)
        near = slope[:, start:stop].copy()
        change = _descend_some_rows(gram[start:stop, start:stop].copy(), near, coef[:, start:stop], penalty)
        # The slopes of all the other rows by one product, which is several times faster than row by row.
        slope -= change @ gram[start:stop]
        slope[:, start:stop] = near


@compiled
def _descend_some_rows(gram: Any, slope: Any, coef: Any, penalty: float) -> Any:
    """One sweep over some rows of W, as in ``_descend_rows``, in place; return the change of Wᵀ."""
    tasks, d = coef.shape
    change = np.empty((tasks, d))
    pull = np.empty(tasks)
    for j in range(d):
        curvature = gram[j, j]
        if curvature <= 0.0:
            change[:, j] = 0.0
            continue
        length = 0.0
        for l in range(tasks):
            pull[l] = slope[l, j] + curvature * coef[l, j]
            length += pull[l] * pull[l]
        length = np.sqrt(length)
        shrink = 0.0
        if length > penalty:
            shrink = (1.0 - penalty / length) / curvature
        for l in range(tasks):
            move = shrink * pull[l] - coef[l, j]
            change[l, j] = move
            if move != 0.0:
                coef[l, j] += move
                subtract_multiple(slope[l], gram[j], move)
    return change
