"""Eigenvectors of Laplacians for the smallest eigenvalues."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs
from sklearn.utils import check_random_state

from ufselect._utils.policy import (
    CROWDED_TOLERANCE,
    LARGEST_CROWDED_SPECTRUM,
    LARGEST_DENSE_SPECTRUM,
    LARGEST_DENSE_SYSTEM,
    SAME_EIGENVALUE,
    SMALLEST_SINGLE_PRECISION_SPECTRUM,
)
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float
from ufselect._utils.warnings import warn_not_converged
from ufselect.columns.arrays import beside, in_memory
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import Laplacian, NormalizedLaplacian
from ufselect.graphs.subspace_iteration import (
    FEWEST_SPARE_VECTORS,
    MOST_FILTERINGS,
    iterate,
    project_out,
    starting_block,
)

_SAMPLES_PER_VECTOR = 10  # for up to that many, a dense decomposition takes less time
_FINEST_OF_SINGLE = 1e-4  # residual for which single precision is enough
_INVERSE_SHIFT = 1e-10  # relative to a bound of the largest eigenvalue: a singular matrix has an inverse as well
_INVERSE_TOLERANCE = 1e-6
_MOST_LANCZOS_STEPS, _STEPS_BETWEEN_CHECKS = 20, 2
_NEARLY = 100.0  # as a multiple of the tolerance: the next step may be the last
_SPARE_VECTORS_OF_INVERSE = 4
_NEGLIGIBLE = 1e-8


class Spectrum(NamedTuple):
    """The smallest eigenvalues in ascending order, and orthonormal eigenvectors in columns."""

    values: Float
    vectors: Float


def smallest_eigenvectors(
    L: Laplacian,
    count: int,
    *,
    nontrivial: bool = False,
    warm_start: Float | None = None,
    dense: bool | None = None,
    tol: float = 1e-7,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> Spectrum:
    """Return the ``count`` smallest eigenpairs of L.

    If the null space is known and larger than ``count``, these are the indicators of the largest connected components:
    any other choice would be arbitrary.

    With ``nontrivial`` only vectors orthogonal to the trivial one of L are considered; if that is constant, these sum
    to zero, like all combinations of centred columns. The size decides between a dense and the iterative solver, unless
    ``dense`` does. For the iterative one, ``warm_start`` has vectors near the solution, such as those of a similar L,
    and ``tol`` is the residual ‖Ly − λy‖ relative to the largest eigenvalue; if it is 1e-4 or more, many samples are
    treated in single precision. The largest entry of every vector is positive.
    """
    n = L.shape[0]
    known = L.null_vectors(count + nontrivial)
    if nontrivial:
        known = _basis_apart_from(L.trivial_vector()[:, None], known)[:, :count]
    if known.shape[1] == count:
        return Spectrum(np.zeros(count), with_fixed_signs(known))
    if dense is None:
        largest = LARGEST_CROWDED_SPECTRUM if L.is_crowded else LARGEST_DENSE_SPECTRUM
        dense = n <= largest or _SAMPLES_PER_VECTOR * count >= n
        if LARGEST_DENSE_SPECTRUM < n <= largest and _SAMPLES_PER_VECTOR * count < n:
            return _by_inverse(L, count, nontrivial, warm_start, random_state)
    if dense:
        return _decompose(L, count, nontrivial)
    # Single precision if the vectors are many and need not be accurate.
    single = n >= SMALLEST_SINGLE_PRECISION_SPECTRUM and L.has_single_precision and tol >= _FINEST_OF_SINGLE
    known = known.astype(np.float32 if single else np.float64, copy=False)
    values, vectors, converged = iterate(
        L,
        count - known.shape[1],
        np.column_stack([known, L.trivial_vector().astype(known.dtype)]) if nontrivial else known,
        warm_start,
        tol,
        n_jobs,
        random_state,
    )
    if not converged and n <= LARGEST_DENSE_SYSTEM:
        return _decompose(L, count, nontrivial)
    if not converged:
        warn_not_converged(
            f"The eigenvectors of the Laplacian did not converge to tol={tol} after {MOST_FILTERINGS} iterations."
        )
    return Spectrum(
        np.concatenate([np.zeros(known.shape[1]), values]), with_fixed_signs(np.column_stack([known, vectors]))
    )


def smallest_of_crowded(
    L: Laplacian, count: int, *, nontrivial: bool, warm_start: Float | None = None, random_state: Any = 0
) -> Spectrum:
    """Return the ``count`` smallest eigenpairs of an L with many small eigenvalues, such as that of a local model.

    They are exact for up to 1500 samples. No iteration tells such vectors apart, so above that they only have
    residuals of 1e-4.
    """
    if L.shape[0] <= LARGEST_CROWDED_SPECTRUM:
        return smallest_eigenvectors(L, count, nontrivial=nontrivial, dense=True)
    return smallest_eigenvectors(
        L, count, nontrivial=nontrivial, warm_start=warm_start, tol=CROWDED_TOLERANCE, random_state=random_state
    )


def spectral_embedding(A: Any, count: int, *, random_state: Any = 0) -> Spectrum:
    """Return generalised eigenvectors y of (D − A)y = λDy with yᵀDy = 1 for the smallest λ, without the constant one.

    The constant vector is excluded beforehand, instead of the first vector afterwards, so that they are well defined
    for a graph with several components.
    """
    L = NormalizedLaplacian(A)
    found = smallest_eigenvectors(L, min(count, L.shape[0] - 1), nontrivial=True, random_state=random_state)
    return Spectrum(found.values, found.vectors / np.sqrt(L.degrees)[:, None])


def equal_values(values: Float) -> list[slice]:
    """Return slices of ascending eigenvalues that are equal up to rounding."""
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > SAME_EIGENVALUE)
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(values)], strict=True)]


def rotated_within_repeats(spectrum: Spectrum, X: Columns) -> Float:
    """Rotate the eigenvectors of every repeated eigenvalue so that they are well defined, given X.

    A repeated eigenvalue defines a subspace but no vectors. Within each such subspace the result is the basis Y for
    which YᵀXXᵀY is diagonal, so that it does not depend on the eigensolver.
    """
    Y = spectrum.vectors.copy()
    for group in equal_values(spectrum.values):
        image = X.transposed_matmul(Y[:, group])
        _, turn = np.linalg.eigh(image.T @ image)
        Y[:, group] = Y[:, group] @ turn[:, ::-1]
    return with_fixed_signs(Y)


def _dense(L: Laplacian, nontrivial: bool) -> Float:
    """Return L as an array, or PLP with the trivial pair moved to the end; P projects out its vector."""
    dense = L.toarray()
    if nontrivial:
        trivial = L.trivial_vector()
        dense -= np.outer(trivial, trivial @ dense)
        dense -= np.outer(dense @ trivial, trivial)
        dense += np.abs(dense).sum(axis=0).max() * np.outer(trivial, trivial)
    return dense


def _by_inverse(L: Laplacian, count: int, nontrivial: bool, warm_start: Float | None, random_state: Any) -> Spectrum:
    """Return eigenpairs by a factorisation of L, or dense ones if their iteration does not converge."""
    avoided = L.trivial_vector()[:, None] if nontrivial else np.zeros((L.shape[0], 0))
    start = starting_block(check_random_state(random_state), slice(None), count, avoided, warm_start)
    found = smallest_by_inverse(_dense(L, nontrivial), count, start[:, : count + FEWEST_SPARE_VECTORS])
    if found is None:
        return _decompose(L, count, nontrivial)
    values, vectors = found
    return Spectrum(values, with_fixed_signs(vectors))


def smallest_by_inverse(matrix: Float, count: int, start: Float) -> tuple[Float, Float] | None:
    """Return the ``count`` smallest eigenvalues and their vectors, or None if the iteration does not converge.

    The matrix is symmetric and positive semi-definite; it is overwritten. The solver takes a Cholesky factorisation and
    a few steps of the block Lanczos method with the inverse, from independent vectors near the solution with one to
    four spare ones. Among crowded small eigenvalues, the inverse tells the wanted ones apart from the others; products
    with the matrix itself hardly do. The images of the vectors under the inverse are multiples of them to within 1e-6.
    """
    start = start[:, : count + _SPARE_VECTORS_OF_INVERSE]
    n, width = start.shape
    shift = _INVERSE_SHIFT * float(np.linalg.norm(matrix))
    matrix[np.diag_indices(n)] += shift
    factor, problem = dpotrf(matrix.T, lower=True, clean=False, overwrite_a=True)
    if problem:
        return None
    basis = np.empty((n, (_MOST_LANCZOS_STEPS + 1) * width), order="F")
    inner = np.zeros(2 * (basis.shape[1],))  # Vᵀ(matrix⁻¹)V
    basis[:, :width] = np.linalg.qr(start)[0]
    error = np.inf
    for step in range(1, _MOST_LANCZOS_STEPS + 1):
        size = step * width
        last, following = slice(size - width, size), slice(size, size + width)
        image, _ = dpotrs(factor, basis[:, last], lower=True)
        inner[:size, last] = _projected_out(basis[:, :size], image)
        basis[:, following], inner[following, last] = _orthonormalized(basis[:, :size], image)
        if step % _STEPS_BETWEEN_CHECKS == 0 or error <= _NEARLY * _INVERSE_TOLERANCE:
            inverses, turn = eigh(inner[:size, :size], lower=False, subset_by_index=[size - count, size - 1])
            error = float(np.max(np.linalg.norm(inner[following, last] @ turn[-width:], axis=0) / inverses))
            if error <= _INVERSE_TOLERANCE:
                return 1.0 / inverses[::-1] - shift, basis[:, :size] @ turn[:, ::-1]
    return None


def _orthonormalized(basis: Float, block: Any) -> tuple[Float, Float]:
    """Return Q and R of a block that is orthogonal to a basis, with a Q that is so even if columns are negligible."""
    Q, R = np.linalg.qr(block)
    lengths = np.abs(np.diagonal(R))
    if lengths.min() <= _NEGLIGIBLE * lengths.max():
        _projected_out(basis, Q)
        Q = np.linalg.qr(Q)[0]
    return Q, R


def _projected_out(basis: Float, block: Any) -> Float:
    """Project orthonormal vectors out of a block, in place, and return the coefficients."""
    along = basis.T @ block
    block -= basis @ along
    again = basis.T @ block  # what rounding has left
    block -= basis @ again
    return np.asarray(along + again)


def _decompose(L: Laplacian, count: int, nontrivial: bool) -> Spectrum:
    """Return dense eigenpairs of L."""
    dense = _dense(L, nontrivial)
    # NumPy's solver, although SciPy's could compute only the required pairs: each has its own thread pool, and at this
    # size switching between the pools costs more than the rest of the spectrum.
    if len(dense) <= LARGEST_DENSE_SPECTRUM:
        values, vectors = np.linalg.eigh(dense)
    else:
        with threads_for(len(dense) ** 3):
            values, vectors = eigh(dense, subset_by_index=[0, count - 1], overwrite_a=True, check_finite=False)
    return Spectrum(values[:count], with_fixed_signs(vectors[:, :count]))


def _basis_apart_from(avoided: Float, vectors: Float) -> Float:
    """Orthonormalise vectors, which are overwritten, after projecting out the avoided ones; drop those that vanish."""
    Q, R = np.linalg.qr(project_out(avoided, vectors))
    return Q[:, np.abs(np.diag(R)) > 1e-8]


def eigengap(values: Float, least: int = 2) -> int:
    """Return the number of ascending eigenvalues before the widest gap, at least ``least``."""
    return least + int(np.argmax(np.diff(values[least - 1 :]))) if len(values) > least else least


def aligned(vectors: Any, reference: Any) -> Any:
    """Rotate orthonormal vectors within their span to be as close as possible to a reference."""
    left, _, right = np.linalg.svd(in_memory(vectors.T @ reference))
    return vectors @ beside(vectors, left @ right)


def turn_between(Z: Float, other: Float) -> float:
    """Return the distance between the column spaces of two arrays: 0 if they are the same, 1 if orthogonal.

    It is the Frobenius distance of the projectors, ‖QQᵀ − Q'Q'ᵀ‖, divided by its largest possible value.
    """
    if len(Z) < SMALLEST_SINGLE_PRECISION_SPECTRUM:
        bases = [_basis(Z), _basis(other)]
        inner = bases[0].T @ bases[1]
    else:  # by products of all columns, which loses half of the digits but takes no memory
        turns = [_orthonormalizing(Z), _orthonormalizing(other)]
        inner = turns[0].T @ (Z.T @ other) @ turns[1]
    ranks = sum(inner.shape)
    if ranks == 0:
        return 0.0
    return float(np.sqrt(max(1.0 - 2.0 * float(np.sum(inner**2)) / ranks, 0.0)))


def _basis(Z: Float) -> Float:
    """Return an orthonormal basis of the columns."""
    left, weight, _ = np.linalg.svd(Z, full_matrices=False)
    return left[:, weight > 1e-10 * weight[0]]


def _orthonormalizing(Z: Float) -> Float:
    """Return R for which ZR is an orthonormal basis of the columns."""
    squares, directions = np.linalg.eigh((Z.T @ Z).astype(np.float64))
    kept = squares > max((1e-6 if Z.dtype == np.float32 else 1e-12) * squares[-1], 0.0)
    return directions[:, kept] / np.sqrt(squares[kept])


def with_fixed_signs(vectors: Float) -> Float:
    """Flip the signs of columns so that the entry of largest magnitude is positive."""
    peak = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[peak, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0.0, 1.0, signs)
