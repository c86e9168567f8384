"""Eigenvectors of a Laplacian for its smallest eigenvalues."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from sklearn.utils import check_random_state

from ufselect._backend.columns import Float
from ufselect.graphs.laplacian import StructureLaplacian

DENSE_LIMIT = 1000
"""Up to so many samples a dense decomposition is the faster one."""

_FEWEST_SPARE_VECTORS = 8
_FILTER_DEGREE = 24
_MOST_FILTERINGS = 100


class Spectrum(NamedTuple):
    """Smallest eigenvalues, ascending, and their orthonormal eigenvectors by columns."""

    values: Float
    vectors: Float


def smallest_eigenvectors(
    L: StructureLaplacian,
    count: int,
    *,
    warm_start: Float | None = None,
    dense: bool | None = None,
    tol: float = 1e-7,
    random_state: Any = 0,
) -> Spectrum:
    """The ``count`` smallest eigenpairs of L.

    Where the null space is known and larger than ``count``, the indicators of the largest connected
    components are returned: any other choice would be arbitrary.

    Parameters
    ----------
    L : StructureLaplacian of shape (n, n)
    count : int
    warm_start : ndarray of shape (n, m), optional
        Vectors near the answer, such as that for a similar L; of use to the iterative route only.
    dense : bool, optional
        Force the dense or the iterative route; by default the size decides.
    tol : float
        Residual ‖Ly − λy‖ of the iterative route, relative to the largest eigenvalue.
    random_state : int, RandomState instance or None
        Start of the iterative route.

    Returns
    -------
    Spectrum
        The largest entry of every vector is positive.
    """
    null = L.null_vectors()
    if null.shape[1] >= count:
        return Spectrum(np.zeros(count), null[:, :count])
    n = L.shape[0]
    if dense is None:
        dense = n <= DENSE_LIMIT or 5 * count >= n
    if dense:
        values, vectors = eigh(L.toarray(), subset_by_index=[0, count - 1], overwrite_a=True)
        return Spectrum(values, _with_fixed_signs(vectors))
    values, vectors = _iterate(L, count - null.shape[1], null, warm_start, tol, random_state)
    return Spectrum(
        np.concatenate([np.zeros(null.shape[1]), values]),
        _with_fixed_signs(np.column_stack([null, vectors])),
    )


def eigengap(values: Float) -> int:
    """How many of the ascending eigenvalues lie before the widest gap, at least two."""
    return 2 + int(np.argmax(np.diff(values[1:]))) if len(values) > 2 else 2


def aligned(vectors: Float, reference: Float) -> Float:
    """Rotate orthonormal vectors within their span so that they come nearest to a reference."""
    left, _, right = np.linalg.svd(vectors.T @ reference)
    return vectors @ (left @ right)


def turn_between(Z: Float, other: Float) -> float:
    """How far apart the column spaces of two arrays are: 0 the same, 1 orthogonal.

    The Frobenius distance of the projectors, ‖QQᵀ − Q'Q'ᵀ‖, over its largest possible value.
    """
    bases = [_basis(Z), _basis(other)]
    ranks = sum(Q.shape[1] for Q in bases)
    common = float(np.sum((bases[0].T @ bases[1]) ** 2))
    return float(np.sqrt(max(1.0 - 2.0 * common / ranks, 0.0)))


def _basis(Z: Float) -> Float:
    left, weight, _ = np.linalg.svd(Z, full_matrices=False)
    return left[:, weight > 1e-10 * weight[0]]


def _iterate(
    L: StructureLaplacian, count: int, null: Float, warm_start: Float | None, tol: float, random_state: Any
) -> tuple[Float, Float]:
    """Subspace iteration with a Chebyshev filter, in the complement of the known null vectors.

    The filter is a polynomial in L that is small on the unwanted part of the spectrum and grows fast
    below it: it does what a preconditioner does, from products with L alone. Some vectors more than
    are wanted make the convergence depend on a gap further up the spectrum, and find the copies of a
    repeated eigenvalue that a warm start has missed. Unlike LOBPCG, it never inverts a Gram matrix
    that a good start makes singular, and it need not wait for the spare vectors.
    """
    n = L.shape[0]
    rng = check_random_state(random_state)
    spare = max(_FEWEST_SPARE_VECTORS, count // 2)
    block = rng.standard_normal((n, count + spare))
    if warm_start is not None:
        near, weight, _ = np.linalg.svd(warm_start - null @ (null.T @ warm_start), full_matrices=False)
        kept = min(int(np.count_nonzero(weight > 1e-3)), count)
        block[:, :kept] = near[:, :kept]
    top = float(eigsh(L, k=1, which="LA", tol=1e-2, v0=rng.standard_normal(n), return_eigenvectors=False)[0])
    for _ in range(_MOST_FILTERINGS):
        block, _ = np.linalg.qr(block - null @ (null.T @ block))
        image = L @ block
        values, rotation = np.linalg.eigh(block.T @ image)
        block, image = block @ rotation, image @ rotation
        residuals = np.linalg.norm(image - block * values, axis=0)
        if residuals[:count].max() <= tol * top:
            break
        block = _chebyshev_filtered(L, block, values[0], values[-1], 1.02 * top)
    return values[:count], block[:, :count]


def _chebyshev_filtered(L: StructureLaplacian, block: Float, low: float, cut: float, top: float) -> Float:
    """Apply the Chebyshev polynomial that is bounded on [cut, top] and scaled to one at ``low``."""
    centre, radius = (top + cut) / 2.0, (top - cut) / 2.0
    sigma = first = radius / (low - centre)
    before, now = block, (L @ block - centre * block) * (sigma / radius)
    for _ in range(_FILTER_DEGREE - 1):
        following = 1.0 / (2.0 / first - sigma)
        before, now = now, (L @ now - centre * now) * (2.0 * following / radius) - (sigma * following) * before
        sigma = following
    return now


def _with_fixed_signs(vectors: Float) -> Float:
    """Make the entry of largest magnitude positive in every column."""
    peak = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[peak, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0.0, 1.0, signs)
