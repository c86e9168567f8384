"""FSASL's S: every sample as a sparse combination of the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ufselect._utils.threads import map_row_blocks
from ufselect._utils.types import Float, Indices
from ufselect._utils.warnings import warn_not_converged
from ufselect.columns.dense import Columns
from ufselect.solvers.lassos import Targets, lassos_without_self, omp_without_self


class SelfExpression(NamedTuple):
    """S, and the penalties αᵢ."""

    S: sp.csc_array
    penalties: Float


def sparse_self_expression(
    Z: Columns | Float,
    penalty_ratio: float,
    *,
    penalties: Float | None = None,
    warm_start: sp.csc_array | None = None,
    tol: float = 1e-4,
    n_jobs: int | None = None,
) -> SelfExpression:
    """Minimise ‖zᵢ − Zᵀsᵢ‖² + αᵢ‖sᵢ‖₁ with Sᵢᵢ = 0, for every sample i.

    Parameters
    ----------
    Z : Columns or ndarray of shape (n, c)
        Samples by rows.
    penalty_ratio : float
        a in αᵢ = a · 2 max_{j≠i}|zᵢ·zⱼ|; every sᵢ is zero if a = 1.
    penalties : ndarray of shape (n,), optional
        The αᵢ themselves, instead of the ratio.
    warm_start : sparse array of shape (n, n), optional
        Initial value of S, such as that of the last iteration.
    tol : float
        Duality gap of every column of S, relative to its objective.
    n_jobs : int, optional
        Number of threads.
    """
    X = Z.for_distances() if isinstance(Z, Columns) else Columns(np.ascontiguousarray(Z))
    n = X.shape[0]

    def solve(block: slice) -> _Block:
        targets = Targets(X, np.arange(block.start, block.stop))
        alpha = 2.0 * penalty_ratio * targets.largest_correlations() if penalties is None else penalties[block]
        guess = None if warm_start is None else warm_start[:, block]
        found = lassos_without_self(targets, alpha / 2.0, guess, tol)
        used = (np.arange(found.coefs.shape[1]) < found.counts[:, None]) & (found.coefs != 0.0)
        return _Block(found.coefs[used], found.members[used], used.sum(axis=1), alpha, found.n_unsolved)

    blocks = map_row_blocks(solve, n, _bytes_per_sample(X), n_jobs)
    n_unsolved = sum(block.n_unsolved for block in blocks)
    if n_unsolved:
        warn_not_converged(
            f"The self-expression of {n_unsolved} of {n} samples did not reach a relative duality gap of {tol}."
        )
    return SelfExpression(_gathered(blocks, n), np.concatenate([block.penalties for block in blocks]))


def fixed_size_self_expression(Z: Columns | Float, n_nonzero: int, *, n_jobs: int | None = None) -> sp.csc_array:
    """Express every sample by ``n_nonzero`` others, selected by orthogonal matching pursuit."""
    X = Z.for_distances() if isinstance(Z, Columns) else Columns(np.ascontiguousarray(Z))

    def pursue(block: slice) -> _Block:
        targets = Targets(X, np.arange(block.start, block.stop))
        members, coefs = omp_without_self(targets, min(n_nonzero, X.shape[0] - 1))
        counts = np.full(len(targets.own), members.shape[1])
        return _Block(coefs.ravel(), members.ravel(), counts, np.zeros(len(counts)), 0)

    return _gathered(map_row_blocks(pursue, X.shape[0], _bytes_per_sample(X), n_jobs), X.shape[0])


class _Block(NamedTuple):
    """Some columns of S: their nonzero entries in order, the row indices and counts of these, and the penalties."""

    coefs: Float
    members: Indices
    counts: Indices
    penalties: Float
    n_unsolved: int


def _bytes_per_sample(X: Columns) -> int:
    # Correlations with all samples, and dense copies of a sample and its candidates.
    return 8 * (2 * X.shape[0] + 32 * X.shape[1])


def _gathered(blocks: list[_Block], n: int) -> sp.csc_array:
    """S of all its columns."""
    coefs, members, counts = (np.concatenate(parts) for parts in list(zip(*blocks, strict=True))[:3])
    S = sp.csc_array((coefs, members, np.concatenate([[0], np.cumsum(counts)])), shape=(n, n))
    S.sort_indices()
    return S
