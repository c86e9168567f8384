"""The Gaussian kernel of all pairs of samples, whole or as a factor of low rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

from ufselect._backend.columns import Columns, Float
from ufselect._backend.memory import ensure_fits
from ufselect._backend.policy import (
    FAINTEST_SIMILARITY,
    LARGEST_DENSE_SPECTRUM,
    LARGEST_EXACT_KERNEL,
    N_LANDMARKS,
)
from ufselect.graphs.neighbors import centered_points, squared_width
from ufselect.graphs.spectral import with_fixed_signs

_NEGLIGIBLE = 1e-10


def gaussian_kernel(X: Columns, width: float, *, n_copies: int = 1) -> Float:
    """exp(−‖xᵢ−xⱼ‖²/(2t²)) for all pairs, and no less than 1e-10, a dense (n, n) array.

    Parameters
    ----------
    X : Columns of shape (n, d)
    width : float
        t as a multiple of the root mean square distance between samples.
    n_copies : int
        Arrays of this size that the caller is going to need; more than fit are refused.
    """
    n = X.shape[0]
    ensure_fits(
        8 * n**2 * (n_copies + 1),
        f"The kernel between all {n} samples",
        'take affinity="neighbors" or fewer samples',
    )
    kernel = euclidean_distances(centered_points(X), squared=True).astype(np.float64)
    kernel /= -2.0 * squared_width(X, width)
    # Nobody drops out of the graph of a kernel, however far away.
    return np.maximum(np.exp(kernel, out=kernel), FAINTEST_SIMILARITY, out=kernel)


def kernel_factor(X: Columns, width: float, *, count: int | None, random_state: Any = 0) -> Float:
    """Φ whose ΦΦᵀ is the Gaussian kernel, doubly centred where X is centred, or its best approximation.

    Parameters
    ----------
    X : Columns of shape (n, d)
    width : float
        As of ``gaussian_kernel``.
    count : int or None
        Columns of Φ, those of the largest eigenvalues; None for as many as matter.
    random_state : int, RandomState instance or None
        Choice of the landmarks from which the kernel of more than 3000 samples is approximated.

    Returns
    -------
    ndarray of shape (n, count)
        Orthogonal columns, each with the root of its eigenvalue as length, in descending order.
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
    """Largest eigenvalues, descending, and their vectors with fixed signs."""
    n = len(kernel)
    if count is None or n <= LARGEST_DENSE_SPECTRUM or 5 * count > n:
        values, vectors = np.linalg.eigh(kernel)
    else:
        start = np.cos(np.arange(n))  # any fixed vector that is not orthogonal to the wanted ones
        values, vectors = eigsh(kernel, k=count, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")[:count]
    return values[order], with_fixed_signs(vectors[:, order])


def _factor_from_landmarks(X: Columns, width: float, count: int | None, random_state: Any) -> Float:
    """Nyström's approximation, turned so that its columns are orthogonal."""
    n_bytes = 24 * X.shape[0] * N_LANDMARKS
    ensure_fits(n_bytes, f"The factor of a kernel between {X.shape[0]} samples", "take fewer samples")
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
