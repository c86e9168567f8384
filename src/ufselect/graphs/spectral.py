"""Eigenvectors of Laplacians for the smallest eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from sklearn.utils import check_random_state, gen_batches

from ufselect._utils.policy import (
    CROWDED_TOLERANCE,
    LARGEST_CROWDED_SPECTRUM,
    LARGEST_DENSE_SPECTRUM,
    LARGEST_DENSE_SYSTEM,
    SAME_EIGENVALUE,
    SMALLEST_SINGLE_PRECISION_SPECTRUM,
)
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float, Indices
from ufselect._utils.warnings import warn_not_converged
from ufselect.columns.arrays import beside, in_memory
from ufselect.columns.dense import Columns
from ufselect.graphs.inverse_spectrum import smallest_by_inverse
from ufselect.graphs.laplacian import Laplacian, NormalizedLaplacian
from ufselect.graphs.tall import orthonormalize, project_out, residuals, rotate

ABOVE_ESTIMATE = 1.02
_SAMPLES_PER_VECTOR = 10  # for up to that many, a dense decomposition takes less time
_FEWEST_SPARE_VECTORS = 8
_LOWEST_DEGREE = 16
_NARROWEST_GAP = 1e-4
MOST_FILTERINGS = 60
_SLICE_BYTES = 2**23
_FINEST_OF_SINGLE = 1e-4  # residual for which single precision is enough
_LARGEST_DRIFT = 1e3
_ROWS_DRAWN_AT_ONCE = 2**14


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

    Parameters
    ----------
    L : Laplacian of shape (n, n)
    count : int
        At most n, or n − 1 if ``nontrivial``.
    nontrivial : bool
        Only consider vectors orthogonal to the trivial one of L. If that is constant, these sum to zero, like all
        combinations of centred columns.
    warm_start : ndarray of shape (n, m), optional
        Vectors near the solution, such as those of a similar L; only used by the iterative solver.
    dense : bool, optional
        Whether to use a dense or the iterative solver; by default the size decides.
    tol : float
        Residual ‖Ly − λy‖ of the iterative solver, relative to the largest eigenvalue. If it is 1e-4 or more, many
        samples are treated in single precision.
    n_jobs : int, optional
        Number of threads of the iterative solver.
    random_state : int, RandomState instance or None
        Start of the iterative solver.

    Returns
    -------
    Spectrum
        The largest entry of every vector is positive.
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
    known = known.astype(_precision(L, tol), copy=False)
    values, vectors, converged = _iterate_in_order_of_neighbors(
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


def settled_within_repeats(spectrum: Spectrum, X: Columns) -> Float:
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
    start = _start(check_random_state(random_state), slice(None), count, avoided, warm_start)
    found = smallest_by_inverse(_dense(L, nontrivial), count, start[:, : count + _FEWEST_SPARE_VECTORS])
    if found is None:
        return _decompose(L, count, nontrivial)
    values, vectors = found
    return Spectrum(values, with_fixed_signs(vectors))


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


def _iterate_in_order_of_neighbors(
    L: Laplacian, count: int, avoided: Float, warm_start: Float | None, *options: Any
) -> tuple[Float, Float, bool]:
    """Iterate with neighbours near to each other in memory, if there are so many samples that it matters."""
    large = L.shape[0] >= SMALLEST_SINGLE_PRECISION_SPECTRUM
    arranged = L.in_order_of_neighbors(avoided.dtype) if large else None
    if arranged is None:
        return _iterate(L, slice(None), count, avoided, warm_start, *options)
    L, order = arranged
    values, vectors, converged = _iterate(L, order, count, avoided[order], warm_start, *options)
    restored = np.empty_like(vectors)
    restored[order] = vectors
    return values, restored, converged


def _iterate(
    L: Laplacian,
    order: Indices | slice,
    count: int,
    avoided: Float,
    warm_start: Float | None,
    tol: float,
    n_jobs: int | None,
    random_state: Any,
) -> tuple[Float, Float, bool]:
    """Subspace iteration with a Chebyshev filter, in the complement of some orthonormal vectors.

    The filter is a polynomial in L that is small on the unwanted part of the spectrum and grows fast below it: it
    replaces a preconditioner and only needs products with L. A few spare vectors make the convergence depend on a gap
    further up the spectrum, and find copies of a repeated eigenvalue that a warm start has missed. Unlike LOBPCG, it
    never inverts a Gram matrix that a good start makes singular, and it does not wait for the spare vectors. Its
    precision is that of the avoided vectors. Also returns whether all vectors have converged.

    ``order`` is the order of the samples in L; only the warm start is in another one.
    """
    rng = check_random_state(random_state)
    block = _start(rng, order, count, avoided, warm_start)
    top = ABOVE_ESTIMATE * _largest_eigenvalue(L, rng)
    # The avoided vectors and those that have converged, which are avoided from then on.
    n_avoided, values = avoided.shape[1], np.zeros(0)
    kept = np.empty((L.shape[0], n_avoided + count), dtype=avoided.dtype)
    kept[:, :n_avoided] = avoided
    for filterings_left in reversed(range(MOST_FILTERINGS)):
        avoided = kept[:, : n_avoided + len(values)]
        block = orthonormalize(project_out(avoided, block))
        ritz, block, errors = _rayleigh_ritz(L, block, avoided, n_jobs)
        top = max(top, ABOVE_ESTIMATE * ritz[-1])  # eigenvalues above the top would grow; they show here
        # Converged vectors leave the block, or their growth would drown the others.
        wanted = count - len(values)
        done = int(np.argmin(np.append(errors[:wanted] <= tol * top, False)))
        taken = done if filterings_left else wanted
        kept[:, avoided.shape[1] : avoided.shape[1] + taken] = block[:, :taken]
        values = np.append(values, ritz[:taken])
        if taken == wanted:
            break
        avoided, block = kept[:, : n_avoided + len(values)], np.ascontiguousarray(block[:, done:])
        block = _chebyshev_filtered(L, block, ritz[done:], wanted - done, top, avoided, n_jobs)
    ascending = np.argsort(values, kind="stable")
    return values[ascending], kept[:, n_avoided + ascending], done == wanted


def _precision(L: Laplacian, tol: float) -> Any:
    """Single precision if the vectors are many and need not be accurate, else double precision."""
    large = L.shape[0] >= SMALLEST_SINGLE_PRECISION_SPECTRUM
    return np.float32 if large and L.has_single_precision and tol >= _FINEST_OF_SINGLE else np.float64


def _start(rng: Any, order: Indices | slice, count: int, avoided: Float, warm_start: Float | None) -> Float:
    """Return a random block with a few spare vectors, the first ones replaced by the warm start."""
    block: Float = np.empty((len(avoided), count + spare_vectors(count)), dtype=avoided.dtype)
    for rows in gen_batches(len(block), _ROWS_DRAWN_AT_ONCE):
        block[rows] = rng.standard_normal(block[rows].shape)
    if warm_start is not None:
        near = project_out(avoided, np.array(warm_start[order], dtype=avoided.dtype))
        squares, directions = np.linalg.eigh((near.T @ near).astype(np.float64))
        kept = min(int(np.count_nonzero(squares > 1e-6)), count)
        leading = directions[:, ::-1][:, :kept] / np.sqrt(squares[::-1][:kept])
        block[:, :kept] = near @ leading.astype(near.dtype)
    return block


def spare_vectors(count: int) -> int:
    """Return the number of vectors of a block beyond those that are wanted."""
    return max(_FEWEST_SPARE_VECTORS, count // 2)


def _largest_eigenvalue(L: Laplacian, rng: Any) -> float:
    start = rng.standard_normal(L.shape[0])
    return float(eigsh(L, k=1, which="LA", tol=1e-2, v0=start, return_eigenvectors=False)[0])


def _rayleigh_ritz(L: Laplacian, block: Float, avoided: Float, n_jobs: int | None) -> tuple[Float, Float, Float]:
    """Return the best approximations of eigenpairs within the span of an orthonormal block, and their residuals."""
    image = _by_slices(lambda part: project_out(avoided, L.combination(part, part, (1.0, 0.0, 0.0), n_jobs)), block)
    values, rotation = np.linalg.eigh((block.T @ image).astype(np.float64))
    rotate(block, rotation)
    return values, block, residuals(image, rotation, block, values)


def _chebyshev_filtered(
    L: Laplacian, block: Float, values: Float, count: int, top: float, avoided: Float, n_jobs: int | None
) -> Float:
    """Apply the Chebyshev polynomial that is bounded between the block's last Ritz value and ``top``.

    The block may be overwritten.
    """
    steps = chebyshev_filter(values, count, top, in_double_precision=block.dtype == np.float64)

    def filtered(now: Float) -> Float:
        before = now
        for weights, drifted in steps:
            before, now = now, L.combination(now, before, weights, n_jobs, overwrite=before is not now)
            if drifted:
                before, now = project_out(avoided, before), project_out(avoided, now)
        return now

    return _by_slices(filtered, block)


class FilterStep(NamedTuple):
    """Weights a, b, c of aL·now + b·now + c·before, and whether avoided vectors may have come back by rounding."""

    weights: tuple[float, float, float]
    drifted: bool


def chebyshev_filter(values: Float, count: int, top: float, *, in_double_precision: bool) -> list[FilterStep]:
    """Return the steps of a polynomial in L that is small above the last of a block's Ritz values, and grows below it.

    Parameters
    ----------
    values : ndarray of shape (m,)
        Ritz values of the block, ascending.
    count : int
        Number of them that are wanted.
    top : float
        Upper bound of the spectrum of L.
    in_double_precision : bool
        Otherwise the lowest vector must not grow as much.
    """
    low, wanted, cut = values[0], values[count - 1], values[-1]
    centre, radius = (top + cut) / 2.0, (top - cut) / 2.0
    # Damp the unwanted part by e⁵, but not so much that the lowest vector drowns the others: not by more than e²⁰, or
    # e¹⁰ in single precision.
    enough, safe = (2.5 / np.sqrt((cut - value) / (top - cut) + _NARROWEST_GAP) for value in (wanted, low))
    degree = max(_LOWEST_DEGREE, int(min(enough, (4.0 if in_double_precision else 2.0) * safe)))
    # Avoided vectors grow at most like those of eigenvalue 0: e^arccosh(centre/radius) per step.
    patience = max(1, int(np.log(_LARGEST_DRIFT) / np.arccosh(centre / radius)))
    sigma = first = radius / (low - centre)
    steps = [FilterStep((sigma / radius, -centre * sigma / radius, 0.0), False)]
    for step in range(1, degree):
        following = 1.0 / (2.0 / first - sigma)
        scale = 2.0 * following / radius
        steps.append(FilterStep((scale, -centre * scale, -sigma * following), step % patience == 0))
        sigma = following
    return steps


def _by_slices(function: Callable[[Float], Float], block: Float) -> Float:
    """Apply a columnwise function to a few columns at a time, to keep its temporary arrays in the cache."""
    slices = _slices(block)
    if len(slices) == 1:
        return function(block)
    result = np.empty_like(block)
    for part in slices:
        result[:, part] = function(block[:, part])
    return result


def _slices(block: Float) -> list[slice]:
    n, width = block.shape
    fitting = max(1, _SLICE_BYTES // (block.itemsize * n))
    # Rows that do not fit are read from memory, which takes as long for few columns as for many.
    return list(gen_batches(width, fitting if n < SMALLEST_SINGLE_PRECISION_SPECTRUM else width))


def with_fixed_signs(vectors: Float) -> Float:
    """Flip the signs of columns so that the entry of largest magnitude is positive."""
    peak = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[peak, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0.0, 1.0, signs)
