"""The Gaussian kernel of all pairs of samples, or a low-rank factor of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

from ufselect._utils.memory import ensure_fits
from ufselect._utils.policy import FAINTEST_SIMILARITY, LARGEST_DENSE_SPECTRUM, LARGEST_EXACT_KERNEL, N_LANDMARKS
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float
from ufselect.columns.dense import Columns
from ufselect.graphs.neighbors import centered_points, squared_width
from ufselect.graphs.spectral import with_fixed_signs

_NEGLIGIBLE = 1e-10


def gaussian_kernel(X: Columns, width: float, *, n_copies: int = 1) -> Float:
    """Return exp(−‖xᵢ−xⱼ‖²/(2t²)) of all pairs, at least 1e-10, as a dense (n, n) array.

    t is ``width`` times the root mean square distance between samples. Raises a MemoryError if ``n_copies`` arrays of
    this size, which the caller needs, do not fit.
    """
    n = X.shape[0]
    ensure_fits(
        8 * n**2 * (n_copies + 1),
        f"The kernel between all {n} samples",
        'use affinity="neighbors" or fewer samples',
    )
    points = centered_points(X)
    with threads_for(2.0 * points.size * n):
        kernel = euclidean_distances(points, squared=True).astype(np.float64)
    kernel /= -2.0 * squared_width(X, width)
    # Even a sample far away from all others must stay in the graph.
    return np.maximum(np.exp(kernel, out=kernel), FAINTEST_SIMILARITY, out=kernel)


def kernel_factor(X: Columns, width: float, *, count: int | None, random_state: Any = 0) -> Float:
    """Return Φ such that ΦΦᵀ is the Gaussian kernel, doubly centred if X is centred, or approximates it.

    The columns of Φ are orthogonal, and their norms are the square roots of the eigenvalues, in descending order. The
    kernel of more than 3000 samples is approximated from random landmarks. Φ has ``count`` columns; if that is None,
    all whose eigenvalue is not negligible.
    """
    n = X.shape[0]
    if n > LARGEST_EXACT_KERNEL:
        return _factor_from_landmarks(X, width, count, random_state)
    kernel = gaussian_kernel(X, width)
    if X.centered:
        kernel -= kernel.mean(axis=0)
        kernel -= kernel.mean(axis=1, keepdims=True)
    values, vectors = _largest_pairs(kernel, count)
    kept = values > _NEGLIGIBLE * values[0]
    return vectors[:, kept] * np.sqrt(values[kept])


def _largest_pairs(kernel: Float, count: int | None) -> tuple[Float, Float]:
    """Return the largest eigenvalues in descending order, and eigenvectors with fixed signs."""
    n = len(kernel)
    if count is None or n <= LARGEST_DENSE_SPECTRUM or 5 * count > n:
        with threads_for(4.0 * len(kernel) ** 3):
            values, vectors = np.linalg.eigh(kernel)
    else:
        start = np.cos(np.arange(n))  # fixed, and not orthogonal to the eigenvectors
        values, vectors = eigsh(kernel, k=count, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")[:count]
    return values[order], with_fixed_signs(vectors[:, order])


def _factor_from_landmarks(X: Columns, width: float, count: int | None, random_state: Any) -> Float:
    """Return the Nyström approximation, rotated so that its columns are orthogonal."""
    n_bytes = 24 * X.shape[0] * N_LANDMARKS
    ensure_fits(n_bytes, f"The factor of a kernel between {X.shape[0]} samples", "use fewer samples")
    machine = Nystroem(
        gamma=0.5 / squared_width(X, width),
        n_components=N_LANDMARKS,
        random_state=check_random_state(random_state),
    )
    features = machine.fit_transform(centered_points(X).astype(np.float64, copy=False))
    if X.centered:
        features -= features.mean(axis=0)
    squares, turn = np.linalg.eigh(features.T @ features)
    order = np.argsort(-squares, kind="stable")[:count]
    return features @ turn[:, order[squares[order] > _NEGLIGIBLE * squares[order[0]]]]
