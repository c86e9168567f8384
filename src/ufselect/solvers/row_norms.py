"""Row-sparse regression as a smooth problem in the norms of the rows.

As ‖w‖ = min_η (‖w‖²/η + η)/2 over η ≥ 0, the minimum of ½tr(WᵀGW) − tr(WᵀC) + λ Σ‖wⱼ‖ over W is that of

    f(η) = −½tr(CᵀW(η)) + (λ/2) Σ ηⱼ,   W(η) = E(GE + λI)⁻¹C,   E = diag(η),

over η ≥ 0; at the solution ηⱼ = ‖wⱼ‖. This function is convex and smooth even at ηⱼ = 0, where a norm is not, and has
one variable per row, whatever the number of columns of W. Newton's method with bounds therefore drops and adds many
rows in one step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from ufselect._backend.columns import Float, Indices

_MOST_STEPS = 50
_SHORTEST_STEP = 1e-3
_LEAST_DECREASE = 1e-4  # as a share of what the slope promises
_ROUNDING = 1e-13
_RIDGE = 1e-10  # dependent columns can share their weight in any way
_FAINTEST_NORM = 1e-8  # ηⱼ as a share of λ/Gⱼⱼ: for smaller ones I − λM⁻¹ cancels


def l21_solution_by_norms(gram: Float, target: Float, W: Float, half: float, tol: float) -> Float:
    """Minimise ½tr(WᵀGW) − tr(WᵀC) + λ Σ‖wⱼ‖ by Newton steps in the norms of the rows.

    Parameters
    ----------
    gram : ndarray of shape (d, d)
        G, positive semi-definite.
    target : ndarray of shape (d, c)
        C.
    W : ndarray of shape (d, c)
        Start, of which only the norms of the rows count.
    half : float
        λ.
    tol : float
        Largest allowed violation of an optimality condition, as a share of λ.

    Returns
    -------
    ndarray of shape (d, c)
        W. It may miss ``tol``, by rounding or after 50 steps; its objective is never higher than that of the start.
    """
    norms = np.linalg.norm(W, axis=1)
    if not norms.any():
        norms = np.full(len(gram), np.linalg.norm(target) / np.trace(gram))
    point = _Point(gram, target, half, norms)
    for _ in range(_MOST_STEPS):
        if point.worst_violation <= tol:
            break
        following = _lower(point)
        if following is None:
            break
        point = following
    return point.W


@dataclass(frozen=True)
class _Point:
    """Norms η, and f and its derivatives there."""

    gram: Float
    target: Float
    half: float
    norms: Float

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
        system = self.gram[np.ix_(self.in_use, self.in_use)]
        system *= self.root
        system *= self.root.T
        system[np.diag_indices(len(system))] += self.half
        # Symmetric, so its transpose, which LAPACK need not copy, is the same.
        return np.asarray(cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)[0])

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
        slope[idle] = self.target[idle] - self.gram[np.ix_(idle, self.in_use)] @ self.W[self.in_use]
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
        """The largest violation of an optimality condition of W, as a share of λ."""
        steepness = np.linalg.norm(self.slope, axis=1) / self.half
        off = np.where(self.norms > 0.0, np.abs(steepness - 1.0), np.maximum(steepness - 1.0, 0.0))
        return float(off.max())

    def hessian(self, rows: Indices) -> Float:
        """(1/λ)(slopeⱼ·slopeₖ) [(λI + GE)⁻¹G]ⱼₖ of some rows, a product of two positive semi-definite matrices."""
        slope = self.slope[rows] / self.half
        hessian = self._stiffness(rows)
        hessian *= slope @ slope.T
        diagonal = np.diag_indices(len(rows))
        hessian[diagonal] = (1.0 + _RIDGE) * np.maximum(hessian[diagonal], 0.0) + _RIDGE**2 * hessian[diagonal].max()
        return hessian

    def _stiffness(self, rows: Indices) -> Float:
        """(λI + GE)⁻¹G of some rows, among them all rows in use.

        With M = E^½GE^½ + λI it is G − GE^½M⁻¹E^½G. Of rows in use this is λE^-½(I − λM⁻¹)E^-½, which takes a third
        of the operations, but cancels if an η is nearly zero.
        """
        inverse = inverse_of_factor(self.factor)
        faint = self.norms[rows] * self.gram[rows, rows] <= _FAINTEST_NORM * self.half
        if not faint.any():
            return self._stiffness_in_use(inverse, slice(None))
        kept = np.flatnonzero(~faint[np.searchsorted(rows, self.in_use)])
        coupling = self.gram[np.ix_(rows[faint], self.in_use)] * self.root.T
        reached = coupling @ inverse
        between = reached[:, kept] * (self.half / self.root[kept].T)
        stiffness = np.empty((len(rows), len(rows)))
        stiffness[np.ix_(~faint, ~faint)] = self._stiffness_in_use(inverse[np.ix_(kept, kept)], kept)
        stiffness[np.ix_(faint, ~faint)], stiffness[np.ix_(~faint, faint)] = between, between.T
        stiffness[np.ix_(faint, faint)] = self.gram[np.ix_(rows[faint], rows[faint])] - reached @ coupling.T
        return stiffness

    def _stiffness_in_use(self, inverse: Float, kept: Indices | slice) -> Float:
        """λE^-½(I − λM⁻¹)E^-½ of some of the rows in use, given M⁻¹ of these, which is overwritten."""
        scale = self.half / self.root[kept]
        inverse *= -scale
        inverse *= scale.T
        inverse[np.diag_indices(len(inverse))] += self.half / self.norms[self.in_use][kept]
        return inverse


def inverse_of_factor(factor: Float, *, overwrite: bool = False) -> Float:
    """Return (LLᵀ)⁻¹ for a lower Cholesky factor L, by half the work of a general inverse."""
    if not factor.size:  # LAPACK would print a complaint
        return factor
    triangle = np.tril(dpotri(factor, lower=True, overwrite_c=overwrite)[0])
    return np.asarray(triangle + np.tril(triangle, -1).T)


def _lower(point: _Point) -> _Point | None:
    """Take a Newton step or, if it does not lower f, a reweighted one, which does; None if rounding prevents both."""
    newton = _newton(point)
    if newton is not None:
        return newton
    reweighted = replace(point, norms=np.linalg.norm(point.W, axis=1))
    return reweighted if reweighted.value < point.value - _ROUNDING * abs(point.value) else None


def _newton(point: _Point) -> _Point | None:
    """Take a step towards the minimum of the quadratic model of f with η ≥ 0; None if no such step lowers f."""
    rows = np.flatnonzero((point.norms > 0.0) | (point.gradient < 0.0))
    now, gradient = point.norms[rows], point.gradient[rows]
    try:
        hessian = point.hessian(rows)
        least = _least_with_bounds(hessian, gradient, now)
        lower = _lower_along(point, rows, least - now)
        return lower if lower is not None else _lower_along(point, rows, _up_to_first_bound(hessian, gradient, now))
    except np.linalg.LinAlgError:  # by rounding
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


def _up_to_first_bound(hessian: Float, gradient: Float, now: Float) -> Float:
    """Return the step to the minimum without bounds, cut where the first η becomes zero: f decreases along it."""
    rows = np.flatnonzero(now > 0.0)
    factor = cho_factor(hessian[np.ix_(rows, rows)].T, lower=True, overwrite_a=True, check_finite=False)
    step = np.zeros_like(now)
    step[rows] = -cho_solve(factor, gradient[rows], check_finite=False)
    shrinking = step < 0.0
    return step * min(1.0, float(np.min(now[shrinking] / -step[shrinking], initial=1.0)))


def _least_with_bounds(hessian: Float, gradient: Float, now: Float) -> Float:
    """Return where the quadratic model is least for η ≥ 0; an η that would once become negative stays zero."""
    free = np.ones(len(now), dtype=bool)
    least = now.copy()
    while free.any():
        inside = np.flatnonzero(free)
        pull = gradient[inside] - hessian[np.ix_(inside, ~free)] @ now[~free]
        factor = cho_factor(hessian[np.ix_(inside, inside)].T, lower=True, overwrite_a=True, check_finite=False)
        least[inside] = now[inside] - cho_solve(factor, pull, check_finite=False)
        negative = inside[least[inside] <= 0.0]
        if not len(negative):
            break
        least[negative] = 0.0
        free[negative] = False
    return least
