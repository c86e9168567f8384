"""Many small lassos with a common dictionary: every sample expressed by the other samples.

Minimise ½‖zₜ − Σⱼ sⱼzⱼ‖² + λₜ‖s‖₁ with s zero at the sample itself, to a relative duality gap. Working sets hold the
few relevant candidates; one product per round checks all the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns
from ufselect.solvers._lasso_kernels import add_best_candidates, descend_lassos

_CANDIDATES_PER_ROUND = 32
_MOST_ROUNDS = 200
_FIRST_PRECISION = 0.01
_INNER_PRECISION = 0.1
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Targets:
    """Some samples, given by their indices, to be expressed by all the others."""

    X: Columns
    own: Indices

    @cached_property
    def rows(self) -> Float:
        """The rows of X of these samples."""
        return self.X.rows(self.own).astype(np.float64)

    @cached_property
    def correlations(self) -> Float:
        """zₜ·zⱼ for every target t and every other sample j; zero for itself."""
        return self.correlations_with(self.rows, slice(None))

    def correlations_with(self, residuals: Float, which: Indices | slice) -> Float:
        """Return rₜ·zⱼ for the given targets t and every other sample j; zero for itself."""
        correlations = self.X.inner_products(residuals)
        correlations[np.arange(len(residuals)), self.own[which]] = 0.0
        return correlations

    def largest_correlations(self) -> Float:
        """Return max_{j≠t}|zₜ·zⱼ|, the smallest penalty λ for which s = 0."""
        return _largest_magnitudes(self.correlations)


class WorkingSets:
    """The candidates of every target and their coefficients."""

    def __init__(self, targets: Targets, guess: sp.csc_array | None) -> None:
        self.targets = targets
        n_targets = len(targets.own)
        self.counts = np.zeros(n_targets, dtype=np.int64) if guess is None else np.diff(guess.indptr).astype(np.int64)
        width = int(self.counts.max(initial=0))
        self.members = np.zeros((n_targets, width), dtype=np.int64)
        self.coefs = np.zeros((n_targets, width))
        if guess is not None:
            filled = np.arange(width) < self.counts[:, None]
            self.members[filled] = guess.indices
            self.coefs[filled] = guess.data

    def forget(self, which: npt.NDArray[np.bool_]) -> None:
        """Start some targets without any candidates."""
        self.counts[which], self.coefs[which] = 0, 0.0

    def renew(self, which: Indices, correlations: Float, floors: Float) -> None:
        """Drop unused candidates and add the most correlated others above the floors, for some targets.

        Every solution on a new set is strictly better than the last one, so no set is repeated.
        """
        self._drop_unused(which)
        n_new = np.minimum(np.maximum(_CANDIDATES_PER_ROUND, self.counts[which]), self.targets.X.shape[0] - 1)
        extra = int((self.counts[which] + n_new).max()) - self.members.shape[1]
        if extra > 0:
            self.members = np.pad(self.members, ((0, 0), (0, extra)))
            self.coefs = np.pad(self.coefs, ((0, 0), (0, extra)))
        members, counts = self.members[which], self.counts[which]
        add_best_candidates(correlations, members, counts, floors, n_new)
        self.members[which], self.counts[which] = members, counts

    def _drop_unused(self, which: Indices) -> None:
        coefs = self.coefs[which]
        used_first = np.argsort(coefs == 0.0, axis=1, kind="stable")
        self.members[which] = np.take_along_axis(self.members[which], used_first, axis=1)
        self.coefs[which] = np.take_along_axis(coefs, used_first, axis=1)
        self.counts[which] = np.count_nonzero(coefs, axis=1)

    def descend(self, which: Indices, penalties: Float, tols: Float) -> Float:
        """Solve the problems in ``which`` on their working sets and return their residuals."""
        members, coefs = self.members[which], self.coefs[which]
        rows, position = self._candidate_rows(members)
        residuals = descend_lassos(rows, self.targets.rows[which], position, self.counts[which], coefs, penalties, tols)
        self.coefs[which] = coefs
        return residuals

    def _candidate_rows(self, members: Indices) -> tuple[Float, Indices]:
        """Return an array that contains the rows of all candidates, and the index of each candidate in it."""
        values = self.targets.X.values
        if not sp.issparse(values):
            return values, members
        distinct, position = np.unique(members, return_inverse=True)
        return self.targets.X.rows(distinct), position.reshape(members.shape)


class LassoSolutions(NamedTuple):
    """Solutions of some lassos: ``coefs[t, a]`` belongs to sample ``members[t, a]``, for a < ``counts[t]``."""

    members: Indices
    counts: Indices
    coefs: Float
    n_unsolved: int


def lassos_without_self(targets: Targets, penalties: Float, guess: sp.csc_array | None, tol: float) -> LassoSolutions:
    """Minimise ½‖zₜ − Zᵀs‖² + λₜ‖s‖₁, s zero at t, for every target t, to a duality gap relative to the objective.

    ``guess`` of shape (n, b) has initial coefficients, one column per target; ``n_unsolved`` did not reach the gap.
    """
    working = WorkingSets(targets, guess)
    # Without correlations and penalty, s = 0 is a solution to which no slope leads.
    working.forget((penalties == 0.0) & ~targets.correlations.any(axis=1))
    pending = np.arange(len(targets.own))
    working.renew(pending, targets.correlations, penalties)
    inner_tol = np.full(len(pending), max(_FIRST_PRECISION, tol / 3.0))
    for _ in range(_MOST_ROUNDS):
        residuals = working.descend(pending, penalties[pending], inner_tol)
        correlations = targets.correlations_with(residuals, pending)
        steepest = _largest_magnitudes(correlations)
        l1 = np.abs(working.coefs[pending]).sum(axis=1)
        primal, gap = _duality_gaps(targets.rows[pending], residuals, l1, penalties[pending], steepest)
        unsolved = gap > tol * primal
        pending, correlations = pending[unsolved], correlations[unsolved]
        if not len(pending):
            break
        working.renew(pending, correlations, penalties[pending])
        # The next members will change the solution, so a higher precision would be wasted.
        inner_tol = np.maximum(tol / 3.0, _INNER_PRECISION * gap[unsolved] / primal[unsolved])
    return LassoSolutions(working.members, working.counts, working.coefs, len(pending))


def _largest_magnitudes(rows: Float) -> Float:
    return np.maximum(rows.max(axis=1), -rows.min(axis=1))


def _duality_gaps(rows: Float, residuals: Float, l1: Float, penalties: Float, steepest: Float) -> tuple[Float, Float]:
    """Return the primal value and the duality gap of every problem; the dual point is a multiple of the residual."""
    residual2 = np.einsum("tr,tr->t", residuals, residuals)
    along = np.einsum("tr,tr->t", rows, residuals)
    primal = 0.5 * residual2 + penalties * l1
    best = np.divide(along, residual2, out=np.zeros_like(along), where=residual2 > 0.0)
    limit = np.divide(penalties, steepest, out=np.full_like(steepest, np.inf), where=steepest > 0.0)
    scale = np.clip(best, -limit, limit)
    return primal, primal - (scale * along - 0.5 * scale**2 * residual2)


def omp_without_self(targets: Targets, n_nonzero: int) -> tuple[Indices, Float]:
    """Select ``n_nonzero`` other samples for every target, each time the one most correlated with the residual.

    Returns the selected samples and their least-squares coefficients, of shape (b, n_nonzero).
    """
    b = len(targets.own)
    everyone = np.arange(b)
    residuals = targets.rows
    members = np.zeros((b, 0), dtype=np.int64)
    correlations = targets.correlations
    for _ in range(n_nonzero):
        strength = np.abs(correlations)
        np.put_along_axis(strength, np.column_stack([members, targets.own]), -1.0, axis=1)
        members = np.column_stack([members, strength.argmax(axis=1)])
        chosen = targets.X.rows(members.ravel()).reshape(b, members.shape[1], -1)
        # Not by the Gram matrix: with repeated samples it would lose half of the digits.
        coefs = np.einsum("tra,tr->ta", np.linalg.pinv(chosen, rcond=_RANK_TOLERANCE), targets.rows)
        residuals = targets.rows - np.einsum("ta,tar->tr", coefs, chosen)
        correlations = targets.correlations_with(residuals, everyone)
    return members, coefs
