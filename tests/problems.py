"""Stored data sets, small problems and certificates of optimality for tests of solvers, graphs and selectors."""

import numpy as np
import pytest
import scipy.sparse as sp

from ufselect.columns.dense import Columns

CLUSTERS = {"syn": 4, "wide": 4, "digits200nc": 10}
DATA = list(CLUSTERS)
on_every_data_set = pytest.mark.parametrize("name", DATA)


def samples(reference, name):
    """X of a stored data set; digits200nc is digits200 without its constant columns."""
    stored = reference(f"data_{name.removesuffix('nc')}")
    X = stored["X"].astype(np.float64)
    return X[:, stored["nonconstant"]] if name.endswith("nc") else X


def relative_width(X, t):
    """The width for which a kernel is exp(−‖xᵢ−xⱼ‖²/(2t²))."""
    return float(t) / np.sqrt(Columns(X).mean_squared_distance())


def correlated_problem(n, d, c=3, seed=0):
    """Correlated columns, and a target that a few of them explain."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    return X, X[:, :3] @ rng.standard_normal((3, c)) + 0.3 * rng.standard_normal((n, c))


def row_norms(W):
    return np.linalg.norm(W, axis=1)


def worst_violation(slope, W, half):
    """By how much the worst row of a row-sparse W misses its optimality condition, as a share of γ/2.

    ``slope`` is half the negative gradient of the smooth part: Xᵀ(Y − XW) for least squares.
    """
    length = row_norms(W)
    used = length > 0.0
    off = np.maximum(row_norms(slope) - half, 0.0)
    off[used] = row_norms(slope[used] - half * W[used] / length[used, None])
    return off.max() / half


def row_sparse_gap(X, Y, W, penalty):
    """Relative duality gap of ‖Y − XW‖² + γ‖W‖₂,₁: 2tr(ΘᵀY) − ‖Θ‖² is a lower bound for every Θ with ‖xⱼᵀΘ‖ ≤ γ/2."""
    R = Y - X @ W
    T = min(1.0, penalty / 2.0 / row_norms(X.T @ R).max()) * R
    value = np.sum(R**2) + penalty * row_norms(W).sum()
    return (value - 2.0 * np.sum(T * Y) + np.sum(T**2)) / value


def central_differences(function, F, step=1e-6):
    """The slope of a function in every entry of F."""
    slope = np.empty_like(F)
    for place in np.ndindex(*F.shape):
        shift = np.zeros_like(F)
        shift[place] = step
        slope[place] = (function(F + shift) - function(F - shift)) / (2.0 * step)
    return slope


def duality_gaps(Z, S, penalties):
    """Objectives ‖zᵢ − Zᵀsᵢ‖² + αᵢ‖sᵢ‖₁ of all columns of S, and their duality gaps.

    With λ = α/2, θᵀz − ½‖θ‖² is a lower bound of half the objective for every θ with |zⱼᵀθ| ≤ λ, j ≠ i;
    θ is the best multiple of the residual.
    """
    S = S.toarray() if sp.issparse(S) else S
    residuals = Z - S.T @ Z
    correlations = residuals @ Z.T
    np.fill_diagonal(correlations, 0.0)
    objectives = np.sum(residuals**2, axis=1) + penalties * np.abs(S).sum(axis=0)
    bounds = np.empty(len(Z))
    for i, residual in enumerate(residuals):
        steepest = np.abs(correlations[i]).max()
        longest = np.inf if steepest == 0.0 else penalties[i] / 2.0 / steepest
        length2 = residual @ residual
        scale = 0.0 if length2 == 0.0 else min(residual @ Z[i] / length2, longest)
        bounds[i] = 2.0 * scale * (residual @ Z[i]) - scale**2 * length2
    return objectives, objectives - bounds
