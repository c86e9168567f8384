"""Row-sparse regression as a smooth problem in the norms of the rows.

As ‖w‖ = min_η (‖w‖²/η + η)/2 over η ≥ 0, the minimum of ½tr(WᵀGW) − tr(WᵀC) + λ Σ‖wⱼ‖ over W is that of

    f(η) = −½tr(CᵀW(η)) + (λ/2) Σ ηⱼ,   W(η) = E(GE + λI)⁻¹C,   E = diag(η),

over η ≥ 0; at the solution ηⱼ = ‖wⱼ‖. This function is convex and smooth even at ηⱼ = 0, where a norm is not, and has
one variable per row, whatever the number of columns of W. Newton's method with bounds therefore drops and adds many
rows in one step.

A symmetric matrix in C order is given by its upper triangle. Its transpose is in Fortran order, given by the lower
triangle: LAPACK need not copy it.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotri

from ufselect._utils.compiling import compiled
from ufselect._utils.types import Float, Indices

_MOST_STEPS = 50
_LEAST_DECREASE = 1e-4  # as a share of what the slope promises
_ROUNDING = 1e-13
_TINY = 1e-20  # share of the largest entry of a Hessian that replaces zeros on its diagonal
_RIDGE = 1e-10  # dependent columns can share their weight in any way, unless there is a ridge
_FAINTEST_NORM = 1e-8  # share of λ/Gⱼⱼ below which I − λM⁻¹ cancels
_SHORTEST_STEP = 1e-3  # if not even such a step decreases f, the Hessian is of no use


def l21_solution_by_norms(gram: Float, target: Float, W: Float, half: float, tol: float) -> Float:
    """Minimise ½tr(WᵀGW) − tr(WᵀC) + λ Σ‖wⱼ‖ by Newton steps in the norms of the rows.

    ``gram`` is G, ``target`` is C and ``half`` is λ. The steps begin at the norms of the rows of a W. The result may
    miss ``tol``, the largest violation of an optimality condition as a share of λ, by rounding or after 50 steps; its
    objective is never higher than that of the start.
    """
    norms = np.linalg.norm(W, axis=1)
    if not norms.any():
        norms = np.full(len(gram), np.linalg.norm(target) / np.trace(gram))
    point = _Point(gram, target, half, norms)
    for _ in range(_MOST_STEPS):
        lower = None if point.worst_violation <= tol else _lower(point)
        if lower is None:
            break
        point = lower
    return point.W


@dataclass(frozen=True)
class _Point:
    """Norms η, and f and its derivatives there."""

    gram: Float
    target: Float
    half: float
    norms: Float

    @cached_property
    def unit(self) -> float:
        """The largest entry of G, which no entry of (λI + GE)⁻¹G exceeds."""
        return float(np.diagonal(self.gram).max()) or 1.0

    @cached_property
    def in_use(self) -> Indices:
        """The rows with η > 0."""
        return np.flatnonzero(self.norms)

    @cached_property
    def root(self) -> Float:
        """√η of these rows, as a column."""
        return np.sqrt(self.norms[self.in_use])[:, None]

    @cached_property
    def factor(self) -> Float:
        """The Cholesky factor of E^½GE^½ + λI, for the rows in use."""
        system = _upper_triangle(self.gram, self.in_use, self.root.ravel(), self.half)
        return _factor_of_upper(system, overwrite=True)

    @cached_property
    def scaled_W(self) -> Float:
        """E^-½W(η) = (E^½GE^½ + λI)⁻¹E^½C, for the rows in use."""
        return np.asarray(cho_solve((self.factor, True), self.root * self.target[self.in_use], check_finite=False))

    @cached_property
    def W(self) -> Float:
        """W(η)."""
        W = np.zeros_like(self.target)
        W[self.in_use] = self.root * self.scaled_W
        return W

    @cached_property
    def slope(self) -> Float:
        """C − GW; its rows in use are λwⱼ/ηⱼ."""
        idle = np.flatnonzero(self.norms == 0.0)
        slope = np.empty_like(self.target)
        slope[self.in_use] = self.half * self.scaled_W / self.root
        slope[idle] = self.target[idle] - self.gram[idle] @ self.W
        return slope

    @cached_property
    def value(self) -> float:
        """f(η)."""
        return -0.5 * float(np.sum(self.W * self.target)) + 0.5 * self.half * float(self.norms.sum())

    @cached_property
    def gradient(self) -> Float:
        """½(λ − ‖slopeⱼ‖²/λ)."""
        return 0.5 * (self.half - np.sum(self.slope**2, axis=1) / self.half)

    @property
    def worst_violation(self) -> float:
        """By how much the worst row of W misses its optimality condition, as a share of λ."""
        steepness = np.linalg.norm(self.slope, axis=1) / self.half
        return float(np.where(self.norms > 0.0, np.abs(steepness - 1.0), np.maximum(steepness - 1.0, 0.0)).max())

    def hessian(self) -> tuple[Indices, Float]:
        """(1/λ)(slopeⱼ·slopeₖ) [(λI + GE)⁻¹G]ⱼₖ of all rows that may change, in multiples of the unit.

        It is a product of two positive semi-definite matrices. With M = E^½GE^½ + λI the second one is
        G − GE^½M⁻¹E^½G. Of rows in use this is λE^-½(I − λM⁻¹)E^-½, which takes a third of the operations, but cancels
        if an η is nearly zero: faint rows come last. Returns the rows, and the upper triangle of the matrix.
        """
        may_change = (self.norms > 0.0) | (self.gradient < 0.0)
        is_faint = self.norms * np.diagonal(self.gram) <= _FAINTEST_NORM * self.half
        regular, faint = np.flatnonzero(may_change & ~is_faint), np.flatnonzero(may_change & is_faint)
        rows, known = np.concatenate([regular, faint]), len(regular)
        slope = self.slope[rows] / self.half
        hessian = slope @ slope.T
        position = np.searchsorted(self.in_use, regular)
        root = self.root[position]
        inverse = _inverse_triangle(self.factor / math.sqrt(self.half))
        scale = math.sqrt(self.half / self.unit) / root.ravel()
        _multiply_by_stiffness(hessian, inverse.T, position, scale)
        if len(faint):
            coupling = self.gram[faint][:, self.in_use] * self.root.T
            reached = cho_solve((self.factor, True), coupling.T, check_finite=False)
            beside, among = reached[position] * (self.half / root), self.gram[faint][:, faint] - coupling @ reached
            hessian[:known, known:] *= beside / self.unit
            hessian[known:, known:] *= among / self.unit
        diagonal = np.diag_indices(len(rows))
        squares = np.maximum(hessian[diagonal], 0.0)
        hessian[diagonal] = (1.0 + _RIDGE) * squares + _TINY * squares.max()
        return rows, hessian


def _lower(point: _Point) -> _Point | None:
    """Take a Newton step or, if it does not lower f, a reweighted one, which does; None if rounding prevents both."""
    with suppress(np.linalg.LinAlgError):  # by rounding
        rows, hessian = point.hessian()
        now, gradient = point.norms[rows], point.gradient[rows] / point.unit
        for step in (_step_to_least, _step_up_to_first_bound):
            lower = _lower_along(point, rows, step(hessian, gradient, now))
            if lower is not None:
                return lower
    with suppress(np.linalg.LinAlgError):  # by rounding, where λ is negligible beside E^½GE^½
        reweighted = replace(point, norms=np.linalg.norm(point.W, axis=1))
        if reweighted.value < point.value - _ROUNDING * abs(point.value):
            return reweighted
    return None


def _lower_along(point: _Point, rows: Indices, step: Float) -> _Point | None:
    """Take a step, or a part of it, that lowers f enough; None if there is none."""
    promised = min(float(point.gradient[rows] @ step), 0.0)
    size = 1.0
    while size >= _SHORTEST_STEP:
        norms = point.norms.copy()
        norms[rows] = np.maximum(norms[rows] + size * step, 0.0)
        trial = replace(point, norms=norms)
        if trial.value <= point.value + _LEAST_DECREASE * size * promised + _ROUNDING * abs(point.value):
            return trial
        size /= 2.0
    return None


def _step_to_least(hessian: Float, gradient: Float, now: Float) -> Float:
    """Return the step to the minimum of ½sᵀHs + gᵀs over x₀ + s ≥ 0, if an entry that would once get negative is zero.

    It may not be the minimum, as some of these would come back, but takes few factors of parts of H, which is given by
    its upper triangle.
    """
    inside, least = np.arange(len(now)), np.zeros_like(now)
    while len(inside):
        pull = gradient[inside]
        if len(inside) < len(now):
            bound = now.copy()
            bound[inside] = 0.0
            pull = pull - dsymv(1.0, hessian.T, bound, lower=True)[inside]
        found = now[inside] - _solved(_factor_of_part(hessian, inside), pull)
        if np.all(found > 0.0):
            least[inside] = found
            break
        inside = inside[found > 0.0]
    return least - now


def _step_up_to_first_bound(hessian: Float, gradient: Float, now: Float) -> Float:
    """Return the step to the minimum of the positive entries without bounds, cut where the first one becomes zero.

    The function decreases along it.
    """
    positive = np.flatnonzero(now > 0.0)
    step = np.zeros_like(now)
    step[positive] = -_solved(_factor_of_part(hessian, positive), gradient[positive])
    shrinking = step < 0.0
    return step * min(1.0, float(np.min(now[shrinking] / -step[shrinking], initial=1.0)))


def _factor_of_part(matrix: Float, rows: Indices) -> Float:
    """Return the lower Cholesky factor of some rows and columns of a matrix, given by its upper triangle."""
    if len(rows) == len(matrix):
        return _factor_of_upper(matrix)
    return _factor_of_upper(_upper_triangle(matrix, rows, np.ones(len(rows)), 0.0), overwrite=True)


def _factor_of_upper(matrix: Float, *, overwrite: bool = False) -> Float:
    """Return the lower Cholesky factor of a matrix, given by its upper triangle."""
    return np.asarray(cho_factor(matrix.T, lower=True, overwrite_a=overwrite, check_finite=False)[0])


def _solved(factor: Float, right: Float) -> Float:
    return np.asarray(cho_solve((factor, True), right, check_finite=False))


def _inverse_triangle(factor: Float) -> Float:
    """Return the lower triangle of (LLᵀ)⁻¹ for a lower Cholesky factor L."""
    if not factor.size:  # LAPACK would print a complaint
        return factor
    return np.asarray(dpotri(factor, lower=True, overwrite_c=True)[0])


@compiled
def _upper_triangle(matrix: Any, rows: Any, scale: Any, shift: float) -> Any:
    """Return σⱼAⱼₖσₖ for some rows j and k of a symmetric A in order, and a shift of the diagonal.

    The upper triangle, of which only that of A is read; zeros below it.
    """
    result = np.zeros((len(rows), len(rows)))
    for a in range(len(rows)):
        row = matrix[rows[a]]
        for b in range(a, len(rows)):
            result[a, b] = scale[a] * scale[b] * row[rows[b]]
        result[a, a] += shift
    return result


@compiled
def _multiply_by_stiffness(matrix: Any, inverse: Any, position: Any, scale: Any) -> None:
    """Multiply the first entries of a matrix by σⱼ(I − A)ⱼₖσₖ, in place, for the rows of A at some positions.

    Upper triangles, of both matrices.
    """
    for a in range(len(position)):
        row = inverse[position[a]]
        for b in range(a + 1, len(position)):
            matrix[a, b] *= -scale[a] * scale[b] * row[position[b]]
        matrix[a, a] *= scale[a] * scale[a] * (1 - row[position[a]])
