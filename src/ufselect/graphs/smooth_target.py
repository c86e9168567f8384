"""The structure of a graph as a kernel: what samples have in common, without a number of clusters.

With eigenpairs (λᵢ, vᵢ) of a Laplacian L, the leading part of the regularised Laplacian kernel ε(L + εI)⁻¹ is
K = Σᵢ wᵢ vᵢvᵢᵀ with wᵢ = ε/(λᵢ + ε). Directions along which the graph nearly falls apart count fully, others fade, and none
is cut off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ufselect._backend.columns import Float
from ufselect.graphs.laplacian import Laplacian
from ufselect.graphs.spectral import smallest_eigenvectors

MOST_DIRECTIONS = 60
"""Number of eigenvectors of a kernel. The weights of further ones are small, and from 30 to 120 little changes."""

_EPSILON = 0.01  # the sum of the weights is then near the number of classes of most data sets with known classes
_RESIDUAL = 1e-3  # of eigenvectors: those with small weights need little precision


def smooth_target(
    L: Laplacian, *, nontrivial: bool, warm_start: Float | None = None, random_state: Any = 0
) -> Float:
    """Return T = [√wᵢ vᵢ], for which K = TTᵀ is the kernel of a Laplacian.

    Parameters
    ----------
    L : Laplacian of shape (n, n)
        Its eigenvalues should be of the order of 1, such as those of neighbour probabilities.
    nontrivial : bool
        Whether to leave out the trivial vector, which is constant.
    warm_start : ndarray of shape (n, q), optional
        T of a similar Laplacian.
    random_state : int, RandomState instance or None
        Start of the iterative eigensolver.

    Returns
    -------
    ndarray of shape (n, q)
        There are q = 60 directions, or a quarter of the samples if these are few.
    """
    spectrum = smallest_eigenvectors(
        L,
        directions(L.shape[0]),
        nontrivial=nontrivial,
        warm_start=warm_start,
        tol=_RESIDUAL,
        random_state=random_state,
    )
    return spectrum.vectors * np.sqrt(weights_of(spectrum.values))


def directions(n: int) -> int:
    """Return the number of eigenvectors in the kernel of n samples."""
    return min(MOST_DIRECTIONS, max(n // 4, 2), n - 1)


def weights_of(eigenvalues: Float) -> Float:
    """Return the weight of every direction, from 1 for an eigenvalue of zero to 0."""
    return _EPSILON / (np.maximum(eigenvalues, 0.0) + _EPSILON)
