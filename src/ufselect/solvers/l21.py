"""Row-sparse regression: ‖Y − XW‖² + γ‖W‖₂,₁, solved to its optimality conditions.

With H = Xᵀ(Y − XW) these are H_j = (γ/2) w_j/‖w_j‖ if w_j ≠ 0, and ‖H_j‖ ≤ γ/2 otherwise. Every subproblem is solved
on a working set of columns by their Gram matrix, so that all of X is only used in one product per round. On a working
set, sweeps of block descent find the zero rows and Newton steps find the values of the others: descent alone needs
thousands of sweeps on correlated columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from ufselect._backend.columns import Columns, Float, Indices
from ufselect.solvers._kernels import descend_row_blocks
from ufselect.solvers._solution import Solution

_SMALLEST_WORKING_SET = 64
_INNER_PRECISION = 0.05
_MOST_ALTERNATIONS = 100
_FEWEST_SWEEPS = 10
_NEWTON_STEPS = 5
_REWEIGHTED_STEPS = 8
_FAINTEST_ROW = 1e-4
_MOST_ROWS_PER_DIMENSION = 40
_FAR_FROM_SOLUTION = 0.3
_ROUNDING = 1e-12
_NEGLIGIBLE = 1e-10


def smallest_penalty_for_zero(X: Columns, Y: Float) -> float:
    """γ_max = 2 maxⱼ‖xⱼᵀY‖, the smallest γ whose solution is W = 0."""
    return smallest_penalty_of_products(X.transposed_matmul(Y))


def smallest_penalty_of_products(products: Float) -> float:
    """Return the same, given XᵀY."""
    return 2.0 * float(np.linalg.norm(products, axis=1).max())


def penalty_for_zero_of_any_embedding(X: Columns) -> float:
    """2 maxⱼ‖xⱼ‖, the smallest γ whose solution is W = 0 for every Y with orthonormal columns."""
    return 2.0 * float(np.sqrt(X.squared_norms().max()))


def tolerance_while_moving(share: float) -> float:
    """Return a loose tolerance for a target that will change by more, at which W = 0 does not meet its conditions.

    At a share p of the smallest penalty for W = 0, zero violates them by (1 − p)/p.
    """
    return min(0.1, 0.5 * (1.0 - share) / share)


def penalty_of_share(X: Columns, Y: Float, share: float) -> float:
    """Return γ as a share of γ_max; positive even if Y is orthogonal to all columns."""
    smallest = _NEGLIGIBLE * penalty_for_zero_of_any_embedding(X)
    return share * max(smallest_penalty_for_zero(X, Y), smallest)


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
    max_iter: int = 100,
    most_rows: int | None = None,
) -> Solution:
    """Minimise ‖Y − XW‖² + γ‖W‖₂,₁ over W.

    With a metric M it is ‖Y‖² − 2tr(YᵀXW) + tr(WᵀXᵀMXW) + γ‖W‖₂,₁; M = I + rL adds r tr(WᵀXᵀLXW).

    Parameters
    ----------
    X : Columns of shape (n, d)
    Y : ndarray of shape (n, c)
    penalty : float
        γ.
    metric : sparse array of shape (n, n), optional
        M, symmetric and positive semi-definite; the identity by default.
    gram : ndarray of shape (d, d), optional
        XᵀX, or XᵀMX, if available; it replaces all products with X.
    products : ndarray of shape (d, c), optional
        XᵀY, if available.
    warm_start : ndarray of shape (d, c), optional
        Initial W, such as the solution for a similar Y.
    tol : float
        Largest allowed violation of an optimality condition, as a share of γ/2.
    max_iter : int
        Maximum number of rounds, each with a larger working set.
    most_rows : int, optional
        Stop as soon as more rows than this are nonzero: the solution has about as many or more.

    Returns
    -------
    Solution
        Its ``coef`` has shape (d, c). It has not converged if there are more than ``most_rows`` nonzero rows.
    """
    target = X.transposed_matmul(Y) if products is None else products
    W, n_iter, converged = _solve(
        _Products(X, metric, gram), target, penalty / 2.0, warm_start, tol, max_iter, most_rows
    )
    return Solution(W, lambda: l21_objective(X, Y, W, penalty, metric=metric), n_iter, converged)


def l21_regression_of_products(
    gram: Float,
    target: Float,
    penalty: float,
    *,
    warm_start: Float | None = None,
    tol: float = 1e-4,
    max_iter: int = 100,
) -> Solution:
    """Minimise tr(WᵀXᵀXW) − 2tr(WᵀXᵀY) + γ‖W‖₂,₁ over W, given XᵀX and XᵀY: X itself is not needed.

    Parameters
    ----------
    gram : ndarray of shape (d, d)
        XᵀX.
    target : ndarray of shape (d, c)
        XᵀY.
    penalty, warm_start, tol, max_iter
        As in :func:`l21_regression`.

    Returns
    -------
    Solution
        Its objective lacks ‖Y‖².
    """
    W, n_iter, converged = _solve(_Products(None, None, gram), target, penalty / 2.0, warm_start, tol, max_iter, None)
    return Solution(W, lambda: 2.0 * _objective(gram, target, W, penalty / 2.0), n_iter, converged)


class _Products:
    """XᵀMX, whole or of some columns, from the Gram matrix if it is available."""

    def __init__(self, X: Columns | None, metric: Any, gram: Float | None) -> None:
        self._X, self._metric, self._gram = X, metric, gram

    def fitted(self, W: Float, working: Indices) -> Float:
        """Return XᵀMXW for a W that is zero outside the working set, by the Gram matrix or the fitted values."""
        if self._gram is not None:
            return self._gram[:, working] @ W[working]
        assert self._X is not None
        fitted = self._X.combined(working, W[working])
        return self._X.transposed_matmul(fitted if self._metric is None else self._metric @ fitted)

    def gram(self, working: Indices) -> Float:
        """XᵀMX of the working set."""
        if self._gram is not None:
            return self._gram[np.ix_(working, working)]
        assert self._X is not None
        if self._metric is None:
            return self._X.gram(working)
        columns = np.asarray(self._X.columns(working), dtype=np.float64)
        return columns.T @ (self._metric @ columns)


def _solve(
    products: _Products,
    target: Float,
    half: float,
    warm_start: Float | None,
    tol: float,
    max_iter: int,
    most_rows: int | None,
) -> tuple[Float, int, bool]:
    """Return W, the number of rounds and whether W meets its conditions."""
    W = np.zeros_like(target) if warm_start is None else warm_start.astype(np.float64)
    working: Indices = np.flatnonzero(W.any(axis=1))
    n_iter, converged = 0, False
    while n_iter < max_iter:
        n_iter += 1
        slope = target - products.fitted(W, working)
        worst = _worst_violation(slope, W, half)
        converged = worst <= tol
        if converged:
            break
        working = _grown_working_set(slope, W, half)
        # The next columns will change the solution, so a higher precision would be wasted.
        inner_tol = max(tol / 2.0, _INNER_PRECISION * worst)
        W[working] = _solve_on_working_set(products.gram(working), target[working], W[working], half, inner_tol)
        if most_rows is not None and np.count_nonzero(W.any(axis=1)) > most_rows:
            break
    return W, n_iter, converged


def l21_objective(X: Columns, Y: Float, W: Float, penalty: float, *, metric: Any = None) -> float:
    """Return the objective of ``l21_regression`` at W."""
    fitted = X @ W
    value = float(np.sum((Y - fitted) ** 2)) + penalty * float(np.linalg.norm(W, axis=1).sum())
    return value if metric is None else value + float(np.sum(fitted * (metric @ fitted - fitted)))


def _worst_violation(slope: Float, W: Float, half: float) -> float:
    """The largest violation of an optimality condition, as a share of γ/2."""
    length = np.linalg.norm(W, axis=1, keepdims=True)
    in_use = length > 0.0
    unit = np.divide(W, length, out=np.zeros_like(W), where=in_use)
    off = np.linalg.norm(slope - half * unit, axis=1) - half * ~in_use.ravel()
    return max(float(off.max()), 0.0) / half


def _grown_working_set(slope: Float, W: Float, half: float) -> Indices:
    """Return the nonzero rows and at most twice as many of those with the largest violations."""
    in_use = np.linalg.norm(W, axis=1) > 0.0
    violation = np.where(in_use, -np.inf, np.linalg.norm(slope, axis=1) - half)
    room = max(_SMALLEST_WORKING_SET, 2 * int(in_use.sum()))
    violators = np.argsort(-violation, kind="stable")[:room]
    in_use[violators[violation[violators] > 0]] = True
    return np.flatnonzero(in_use)


def _solve_on_working_set(gram: Float, target: Float, W: Float, half: float, tol: float) -> Float:
    """Alternate block descent, which finds the zero rows, with Newton steps on the others if it gets slow."""
    # Near the solution, or in few dimensions, sweeps are so cheap that a factorisation does not pay.
    if len(gram) <= _MOST_ROWS_PER_DIMENSION * target.shape[1] and (
        _worst_violation(target - gram @ W, W, half) > _FAR_FROM_SOLUTION
    ):
        W = _reweighted(gram, target, W, half)
    # A Newton step costs as much as d/c sweeps: neither should take much more time than the other.
    sweeps = max(_FEWEST_SWEEPS, len(gram) // target.shape[1])
    last = np.inf
    for _ in range(_MOST_ALTERNATIONS):
        coef, slope = np.ascontiguousarray(W.T), np.ascontiguousarray((target - gram @ W).T)
        violation = descend_row_blocks(gram, slope, coef, half, tol, sweeps)
        W = coef.T.copy()
        if violation <= tol:
            break
        if violation > last / 2.0:
            W = _newton_steps(gram, target, W, half, tol)
        last = violation
    return W


def _reweighted(gram: Float, target: Float, W: Float, half: float) -> Float:
    """Take a few steps W ← (G + λ diag(1/‖wⱼ‖))⁻¹C, which minimise a majoriser, from rows that are all nonzero.

    They come near the solution within a few factorisations, wherever they start, but never make a row exactly zero:
    rows that have become negligible are left out.
    """
    length = np.linalg.norm(W, axis=1)
    rows = np.arange(len(W))
    length = np.where(
        length > 0.0, length, length.max() / 2.0 if length.any() else np.linalg.norm(target) / np.trace(gram)
    )
    for _ in range(_REWEIGHTED_STEPS):
        # With R = diag(‖wⱼ‖/λ)^(1/2) it is R(RGR + I)⁻¹RC.
        root = np.sqrt(length / half)
        system = root[:, None] * gram[np.ix_(rows, rows)] * root
        system[np.diag_indices(len(rows))] += 1.0
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        found = root[:, None] * cho_solve(factor, root[:, None] * target[rows], check_finite=False)
        length = np.linalg.norm(found, axis=1)
        kept = length > _FAINTEST_ROW * length.max()
        rows, length, found = rows[kept], length[kept], found[kept]
    result = np.zeros_like(W)
    result[rows] = found
    return result


def _newton_steps(gram: Float, target: Float, W: Float, half: float, tol: float) -> Float:
    """Take a few steps on the nonzero rows, until they converge."""
    for _ in range(_NEWTON_STEPS):
        rows = np.flatnonzero(W.any(axis=1))
        if not len(rows):
            break
        W[rows], settled = _lowered(gram[np.ix_(rows, rows)], target[rows], W[rows], half, tol)
        if settled:
            break
    return W


def _lowered(gram: Float, target: Float, W: Float, half: float, tol: float) -> tuple[Float, bool]:
    """Take one descent step on ½tr(WᵀGW) − tr(WᵀC) + λ Σ‖wⱼ‖ from rows that are all nonzero.

    With û = w/‖w‖, the Hessian is V ↦ GV + λ(V − û ûᵀV)/‖w‖ by rows. Without its last term it is
    M = G + λ diag(1/‖wⱼ‖), the curvature of a majoriser. If the Newton step does not lower the objective, the step of
    the majoriser does. A row that a Newton step would carry past zero stops at zero. Also returns whether the given
    rows meet ``tol`` already.
    """
    length = np.linalg.norm(W, axis=1, keepdims=True)
    unit = W / length
    descent = target - gram @ W - half * unit
    if np.linalg.norm(descent, axis=1).max() <= tol * half:
        return W, True
    value = _objective(gram, target, W, half)
    majorizer_inverse = _inverse_of(gram + np.diag((half / length).ravel()))
    step = _newton_step(half / length, unit, descent, majorizer_inverse)
    along = np.sum(step * W, axis=1) / length.ravel() ** 2
    first_zero = min(1.0, float(-1.0 / along.min())) if along.min() < 0.0 else 1.0
    for size in (1.0, first_zero, first_zero / 4.0, first_zero / 16.0):
        trial = W + size * step
        trial[1.0 + size * along <= _ROUNDING] = 0.0
        if _objective(gram, target, trial, half) < value:
            return trial, False
    return W + majorizer_inverse @ descent, False


def _inverse_of(matrix: Float) -> Float:
    """Invert a positive definite matrix, by half the work of a general inverse."""
    factor, _ = dpotrf(matrix, lower=True, overwrite_a=True)
    lower, _ = dpotri(factor, lower=True, overwrite_c=True)
    lower = np.tril(lower)
    return np.asarray(lower + np.tril(lower, -1).T)


def _newton_step(stiffness: Float, unit: Float, descent: Float, majorizer_inverse: Float) -> Float:
    """Solve the Newton system exactly.

    The Hessian differs from the majoriser M by one direction per row: it is M ⊗ I − U diag(s) Uᵀ, where s = λ/‖wⱼ‖ and
    column j of U holds ûⱼ in row j. By Woodbury's formula its inverse needs only the matrix diag(1/s) − UᵀM⁻¹U, whose
    entries are those of −M⁻¹ times ûⱼᵀû_l.
    """
    step = majorizer_inverse @ descent
    inner = -majorizer_inverse * (unit @ unit.T)
    inner[np.diag_indices(len(inner))] += 1.0 / stiffness.ravel()
    inner[np.diag_indices(len(inner))] *= 1.0 + _ROUNDING  # dependent columns can share their weight in any way
    try:
        # Ill-conditioned or not: a step that does not lower the objective is not taken.
        factor = cho_factor(inner, lower=True, check_finite=False)
        along = cho_solve(factor, np.sum(unit * step, axis=1), check_finite=False)
    except np.linalg.LinAlgError:
        return step
    return step + majorizer_inverse @ (unit * along[:, None])


def _objective(gram: Float, target: Float, W: Float, half: float) -> float:
    quadratic = 0.5 * float(np.sum(W * (gram @ W))) - float(np.sum(W * target))
    return quadratic + half * float(np.linalg.norm(W, axis=1).sum())
