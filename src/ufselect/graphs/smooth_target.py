"""The structure of a graph as a kernel: what samples have in common, at a coarse and a fine scale.

With eigenpairs (λᵢ, vᵢ) of a Laplacian, the kernel K = Σᵢ wᵢ vᵢvᵢᵀ, wᵢ = (1−s)·a/(λᵢ + a) + s·b/(λᵢ + b), is a mixture
of two regularised Laplacian kernels a(L + aI)⁻¹ and b(L + bI)⁻¹. The coarse one counts the directions along which the
graph nearly falls apart; no number of clusters is needed, because directions fade instead of being cut off. The fine
one counts all directions nearly alike: groups of a few samples show only there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ufselect._utils.types import Float
from ufselect.columns.arrays import beside
from ufselect.graphs.laplacian import Laplacian
from ufselect.graphs.spectral import aligned, smallest_eigenvectors

MOST_DIRECTIONS = 60
"""Number of eigenvectors of a kernel. The weights of further ones are small; results/README.md has figures."""

_COARSE, _FINE, _SHARE_OF_FINE = 0.005, 0.5, 0.1
RESIDUAL = 1e-3  # of eigenvectors; the weights change by less


def smooth_target(
    L: Any,
    *,
    nontrivial: bool,
    warm_start: Any = None,
    tol: float = RESIDUAL,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> Any:
    """Return T = [√wᵢ vᵢ] of shape (n, q), for which K = TTᵀ is the kernel of a Laplacian.

    There are q = 60 directions, or a quarter of the samples if these are few, whose residuals are at most ``tol``. With
    ``nontrivial``, the trivial vector, which is constant, is left out. T is rotated towards ``warm_start``, the T of a
    similar Laplacian.
    """
    find: Any = smallest_eigenvectors
    if not isinstance(L, Laplacian):
        from ufselect.graphs import spectral_cuda  # imports PyTorch

        find = spectral_cuda.smallest_eigenvectors
    spectrum = find(
        L,
        directions(L.shape[0]),
        nontrivial=nontrivial,
        warm_start=warm_start,
        tol=tol,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    T = spectrum.vectors * beside(spectrum.vectors, np.sqrt(weights_of(spectrum.values)))
    return T if warm_start is None else aligned(T, warm_start)


def directions(n: int) -> int:
    """Return the number of eigenvectors in the kernel of n samples."""
    return min(MOST_DIRECTIONS, max(n // 4, 2), n - 1)


def weights_of(eigenvalues: Float) -> Float:
    """Return the weight of every direction, from 1 for an eigenvalue of zero to 0."""
    values = np.maximum(eigenvalues, 0.0)
    coarse, fine = _COARSE / (values + _COARSE), _FINE / (values + _FINE)
    return (1.0 - _SHARE_OF_FINE) * coarse + _SHARE_OF_FINE * fine
