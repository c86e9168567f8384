"""Row-sparse regression to a loose tolerance, for a target that will move by more.

Sweeps of block descent find the zero rows, and Newton steps on the others help if they get slow. A few reweighted steps
before them make the result depend on neither the order of the rows nor the rotation of the target.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf

from ufselect._utils.types import Float
from ufselect.solvers._row_kernels import descend_row_blocks
from ufselect.solvers.row_norms import inverse_of_factor

_MOST_ALTERNATIONS = 100
_FEWEST_SWEEPS = 10
_NEWTON_STEPS = 5
_REWEIGHTED_STEPS = 8
_FAINTEST_ROW = 1e-4
_MOST_ROWS_PER_DIMENSION = 40
_FAR_FROM_SOLUTION = 0.3
_ROUNDING = 1e-12


def rough_l21_solution(gram: Float, target: Float, W: Float, half: float, tol: float) -> Float:
    """Alternate block descent, which finds the zero rows, with Newton steps on the others if it gets slow."""
    # Near the solution, or in few dimensions, sweeps are so cheap that a factorisation does not pay.
    if len(gram) <= _MOST_ROWS_PER_DIMENSION * target.shape[1] and (
        worst_violation(target - gram @ W, W, half) > _FAR_FROM_SOLUTION
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
    value = l21_value(gram, target, W, half)
    majorizer_inverse = _inverse_of(gram + np.diag((half / length).ravel()))
    step = _newton_step(half / length, unit, descent, majorizer_inverse)
    along = np.sum(step * W, axis=1) / length.ravel() ** 2
    first_zero = min(1.0, float(-1.0 / along.min())) if along.min() < 0.0 else 1.0
    for size in (1.0, first_zero, first_zero / 4.0, first_zero / 16.0):
        trial = W + size * step
        trial[1.0 + size * along <= _ROUNDING] = 0.0
        if l21_value(gram, target, trial, half) < value:
            return trial, False
    return W + majorizer_inverse @ descent, False


def _inverse_of(matrix: Float) -> Float:
    """Invert a positive definite matrix."""
    return inverse_of_factor(dpotrf(matrix, lower=True, overwrite_a=True)[0], overwrite=True)


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


def worst_violation(slope: Float, W: Float, half: float) -> float:
    """The largest violation of an optimality condition, as a share of γ/2."""
    length = np.linalg.norm(W, axis=1, keepdims=True)
    in_use = length > 0.0
    unit = np.divide(W, length, out=np.zeros_like(W), where=in_use)
    off = np.linalg.norm(slope - half * unit, axis=1) - half * ~in_use.ravel()
    return max(float(off.max()), 0.0) / half


def l21_value(gram: Float, target: Float, W: Float, half: float) -> float:
    """½tr(WᵀGW) − tr(WᵀC) + λ Σ‖wⱼ‖."""
    quadratic = 0.5 * float(np.sum(W * (gram @ W))) - float(np.sum(W * target))
    return quadratic + half * float(np.linalg.norm(W, axis=1).sum())
