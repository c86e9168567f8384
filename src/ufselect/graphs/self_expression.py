"""FSASL's S: every sample as a sparse combination of the others."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ufselect._backend.blocks import map_row_blocks
from ufselect._backend.columns import Columns, Float, Indices
from ufselect.solvers.lasso import Targets, lassos_without_self, omp_without_self


class SelfExpression(NamedTuple):
    """S with the penalties αᵢ it was found with."""

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
        a in αᵢ = a · 2 max_{j≠i}|zᵢ·zⱼ|; at a = 1 every sᵢ is zero.
    penalties : ndarray of shape (n,), optional
        The αᵢ themselves, in place of the ratio.
    warm_start : sparse array of shape (n, n), optional
        A guess at S, such as that of the last iteration.
    tol : float
        Duality gap of every column of S, relative to its objective.
    n_jobs : int, optional
        Threads, over blocks of samples.

    Returns
    -------
    SelfExpression
        S of shape (n, n), column i for sample i, and the αᵢ.
    """
    X = Z if isinstance(Z, Columns) else Columns(np.ascontiguousarray(Z))
    solve = partial(_solve_block, X, penalty_ratio, penalties, warm_start, tol)
    return _gather(map_row_blocks(solve, X.shape[0], _bytes_a_sample(X), n_jobs), X.shape[0])


def fixed_size_self_expression(Z: Columns | Float, n_nonzero: int, *, n_jobs: int | None = None) -> sp.csc_array:
    """Express every sample by ``n_nonzero`` others, chosen one by one (orthogonal matching pursuit)."""
    X = Z if isinstance(Z, Columns) else Columns(np.ascontiguousarray(Z))

    def pursue(block: slice) -> tuple[Float, Indices, Indices, Float]:
        targets = Targets(X, block)
        members, coefs = omp_without_self(targets, min(n_nonzero, X.shape[0] - 1))
        counts = np.full(len(targets.own), members.shape[1])
        return coefs.ravel(), members.ravel(), counts, np.zeros(len(counts))

    return _gather(map_row_blocks(pursue, X.shape[0], _bytes_a_sample(X), n_jobs), X.shape[0]).S


def _solve_block(
    X: Columns,
    penalty_ratio: float,
    penalties: Float | None,
    warm_start: sp.csc_array | None,
    tol: float,
    block: slice,
) -> tuple[Float, Indices, Indices, Float]:
    targets = Targets(X, block)
    alpha = 2.0 * penalty_ratio * targets.largest_correlations() if penalties is None else penalties[block]
    guess = None if warm_start is None else warm_start[:, block]
    members, counts, coefs = lassos_without_self(targets, alpha / 2.0, guess, tol)
    used = (np.arange(coefs.shape[1]) < counts[:, None]) & (coefs != 0.0)
    return coefs[used], members[used], used.sum(axis=1), alpha


def _bytes_a_sample(X: Columns) -> int:
    # A row of correlations with all samples, and dense copies of a sample and its candidates.
    return 8 * (2 * X.shape[0] + 32 * X.shape[1])


def _gather(blocks: list[tuple[Float, Indices, Indices, Float]], n: int) -> SelfExpression:
    coefs, members, counts, penalties = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    S = sp.csc_array((coefs, members, indptr), shape=(n, n))
    S.sort_indices()
    return SelfExpression(S, penalties)
