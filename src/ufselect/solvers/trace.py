"""Row-sparse projections that are smooth on a graph: the exact solution for FSASL's W.

Minimise tr(WᵀXᵀLXW) + γ‖W‖₂,₁ subject to WᵀXᵀXW = I. With ‖wⱼ‖ ≤ ‖wⱼ‖²/(2‖vⱼ‖) + ‖vⱼ‖/2 at the
current rows vⱼ, a majoriser is minimised by the c smallest λ of (XᵀLX + γD)w = λXᵀXw,
D = diag(1/(2‖vⱼ‖)). Both forms below use D⁻¹, so that a zero row stays zero without special treatment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from ufselect._utils.types import Float
from ufselect.columns.dense import Columns, column_blocks

_RANK_TOLERANCE = 1e-12


def even_row_norms(X: Columns, count: int) -> Float:
    """Return equal initial row norms such that tr(WᵀXᵀXW) = c for uncorrelated columns."""
    return np.full(X.shape[1], np.sqrt(count / X.squared_norms().sum()))


def smoother_projection(
    X: Columns, L: Any, row_norms: Float, penalty: float, count: int, *, gram: Float | None = None
) -> Float:
    """Take one majorisation step for W, which never raises tr(WᵀXᵀLXW) + γ‖W‖₂,₁.

    Parameters
    ----------
    X : Columns of shape (n, d)
    L : operator of shape (n, n)
    row_norms : ndarray of shape (d,)
        ‖vⱼ‖ of the current W.
    penalty : float
        γ, positive.
    count : int
        c, the number of columns of W; the result has fewer if the rank of X is lower.
    gram : ndarray of shape (d, d), optional
        XᵀX, if n ≥ d and it is available.

    Returns
    -------
    ndarray of shape (d, c)
        W with (XW)ᵀXW = I.
    """
    inverse_weights = 2.0 * row_norms
    n, d = X.shape
    step = _by_features if n >= d else _by_samples
    return step(X, L, inverse_weights, penalty, count, gram)


def _by_features(X: Columns, L: Any, inverse_weights: Float, penalty: float, count: int, gram: Float | None) -> Float:
    """For n ≥ d: with w = D^(-1/2)v and X̃ = XD^(-1/2), solve X̃ᵀX̃v = θ(X̃ᵀLX̃ + γI)v for the largest θ = 1/λ.

    The matrix on the right is positive definite, so XᵀX may be singular.
    """
    used = np.flatnonzero(inverse_weights)
    root = np.sqrt(inverse_weights[used])
    gram = X.gram(used) if gram is None else gram[np.ix_(used, used)]
    smoothness = column_smoothness(X, L)[np.ix_(used, used)]
    v, theta = _largest_pairs(root[:, None] * gram * root, root[:, None] * smoothness * root, penalty, count)
    W = np.zeros((X.shape[1], len(theta)))
    W[used] = root[:, None] * v / np.sqrt(theta)
    return W


def column_smoothness(X: Columns, L: Any) -> Float:
    """Return XᵀLX as a dense (d, d) array, in blocks of columns so that a sparse X is never dense as a whole."""
    product = np.hstack([X.transposed_matmul(L @ columns) for _, columns in column_blocks(X)])
    return (product + product.T) / 2.0


def _by_samples(X: Columns, L: Any, inverse_weights: Float, penalty: float, count: int, _gram: Float | None) -> Float:
    """For d > n: with XD⁻¹Xᵀ = QΛQᵀ, Σ = Λ^½ and w = D⁻¹XᵀQΣ⁻¹u, solve Λu = θ(ΣQᵀLQΣ + γI)u for the largest θ."""
    squares, Q = np.linalg.eigh(X.row_gram(inverse_weights))
    kept = squares > _RANK_TOLERANCE * squares[-1]
    squares, Q = squares[kept], Q[:, kept]
    sigma = np.sqrt(squares)
    smoothness = Q.T @ (L @ Q)
    smoothness = (smoothness + smoothness.T) / 2.0
    u, theta = _largest_pairs(np.diag(squares), sigma[:, None] * smoothness * sigma, penalty, count)
    return inverse_weights[:, None] * X.transposed_matmul(Q @ (u / sigma[:, None])) / np.sqrt(theta)


def _largest_pairs(left: Float, smoothness: Float, penalty: float, count: int) -> tuple[Float, Float]:
    """Return the vectors of the largest positive θ in left·v = θ(smoothness + γI)v, and θ, in descending order."""
    size = len(left)
    # A γ that is smaller than the rounding errors of the first term would not make the matrix positive definite.
    rounding = size * float(np.finfo(np.float64).eps * np.diagonal(smoothness).max(initial=0.0))
    right = smoothness + max(penalty, rounding) * np.eye(size)
    theta, v = eigh(left, right, subset_by_index=[max(size - count, 0), size - 1])
    positive = theta > _RANK_TOLERANCE * theta[-1]
    return v[:, positive][:, ::-1], theta[positive][::-1]
