"""The smallest eigenpairs of a Laplacian with a self-expression, by a factor in single precision."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import spotrf, spotrs
from sklearn.utils import check_random_state

from ufselect._utils.policy import LARGEST_CROWDED_SPECTRUM, LARGEST_DENSE_SPECTRUM
from ufselect._utils.types import Float
from ufselect.graphs.laplacian import StructureLaplacian
from ufselect.graphs.spectral import Spectrum, smallest_eigenvectors, with_fixed_signs
from ufselect.graphs.tall import project_out
from ufselect.solvers._triangle_kernels import add_below, add_outer_products_below

Single = npt.NDArray[np.float32]

_SHIFT = 1e-6  # relative to the largest entry: more than the rounding errors of a factor in single precision
_TOLERANCE = 1e-6
_MOST_STEPS = 14
_STEPS_WITH_SPARES = 3
_SPARE_VECTORS = 4
_SAMPLES_PER_VECTOR = 25  # for fewer, the search space would take more time than the factor
_SPARSE_PRODUCT_COST = 100  # time of a product of two entries beside that of a dense product
_ORTHOGONAL = 1e-8
_MOST_PROJECTIONS = 3


def smallest_of_structure(
    L: StructureLaplacian,
    count: int,
    *,
    nontrivial: bool = False,
    warm_start: Float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> Spectrum:
    """Return the ``count`` smallest eigenpairs of L, like :func:`ufselect.graphs.spectral.smallest_eigenvectors`.

    If L has a self-expression and up to 1500 samples, and there is a warm start, L is factorised in single precision,
    which takes half the time, and the rough inverse leads to vectors that are accurate in double precision. If that
    does not converge, the vectors are those of the other function.

    Parameters
    ----------
    L : StructureLaplacian of shape (n, n)
    count : int
        At most n, or n − 1 if ``nontrivial``.
    nontrivial : bool
        Only consider vectors that sum to zero.
    warm_start : ndarray of shape (n, m), optional
        Vectors near the solution, such as those of a similar L. The faster way needs m = ``count``.
    n_jobs : int, optional
        Number of threads of the other function.
    random_state : int, RandomState instance or None
        Random vectors of the start.

    Returns
    -------
    Spectrum
        The largest entry of every vector is positive.
    """
    if warm_start is not None and warm_start.shape[1] == count and _has_cheap_factor(L, count):
        inverse = RoughInverse.of(L, nontrivial=nontrivial)
        found = None if inverse is None else smallest_by_rough_inverse(L, inverse, warm_start, random_state)
        if found is not None:
            return found
    return smallest_eigenvectors(
        L, count, nontrivial=nontrivial, warm_start=warm_start, n_jobs=n_jobs, random_state=random_state
    )


def _has_cheap_factor(L: StructureLaplacian, count: int) -> bool:
    """Whether there is a sparse self-expression, and so many samples that a factor takes most of the time."""
    n = L.shape[0]
    if not L.is_crowded or not LARGEST_DENSE_SPECTRUM < n <= LARGEST_CROWDED_SPECTRUM:
        return False
    n_products = float(np.sum(np.diff(L.unexpressed_back.indptr).astype(np.float64) ** 2))
    return _SAMPLES_PER_VECTOR * count < n and _SPARSE_PRODUCT_COST * n_products <= n**3


class RoughInverse(NamedTuple):
    """The inverse of L + shift in the complement of the trivial vector, to single precision.

    Parameters
    ----------
    factor : ndarray of shape (n, n)
        Cholesky factor of (L + shift)/top, the upper triangle.
    top : float
    shift : float
    trivial : ndarray of shape (n, 1) or (n, 0)
    image : ndarray of shape (n, 1) or (n, 0)
        (L + shift)⁻¹ times the trivial vector, up to a factor, such that their product is 1.
    """

    factor: Single
    top: float
    shift: float
    trivial: Float
    image: Float

    @classmethod
    def of(cls, L: StructureLaplacian, *, nontrivial: bool) -> Self | None:
        """Factorise L, or return None if rounding errors make it indefinite."""
        trivial = L.trivial_vector()[:, None] if nontrivial else np.zeros((L.shape[0], 0))
        triangle, top = _triangle_in_single_precision(L)
        triangle[np.diag_indices(len(triangle))] += np.float32(_SHIFT)
        factor, problem = spotrf(triangle.T, lower=False, clean=False, overwrite_a=True)
        if problem:
            return None
        image = _solved(factor, trivial)
        return cls(factor, top, _SHIFT * top, trivial, image / np.sum(trivial * image, axis=0))

    def __call__(self, block: Float) -> Float:
        """Return the images of vectors that are orthogonal to the trivial one; so are these."""
        images = _solved(self.factor, block)
        return (images - self.image @ (self.trivial.T @ images)) / self.top


def _solved(factor: Single, block: Float) -> Float:
    """Solve with a factor in single precision."""
    if not block.shape[1]:
        return block
    solution, _ = spotrs(factor, block.astype(np.float32, order="F"), lower=False, overwrite_b=True)
    return np.asarray(solution, dtype=np.float64)


def _triangle_in_single_precision(L: StructureLaplacian) -> tuple[Single, float]:
    """Return the lower triangle of a dense L, divided by its largest entry, and that entry."""
    columns, local = L.unexpressed_back, L.local
    diagonal = L.unexpressed.power(2).sum(axis=1) + (0.0 if local is None else local.diagonal())
    top = float(np.max(diagonal))
    triangle = np.zeros(L.shape, dtype=np.float32)
    add_outer_products_below(triangle, columns.indptr, columns.indices, columns.data, 1.0 / top)
    if local is not None:
        add_below(triangle, local.indptr, local.indices, local.data, 1.0 / top)
    return triangle, top


def smallest_by_rough_inverse(
    L: StructureLaplacian, inverse: RoughInverse, near: Float, random_state: Any
) -> Spectrum | None:
    """Return as many of the smallest eigenpairs of L as are near, or None if the iteration does not converge.

    This is the block Davidson method: a search space grows by the images of residuals under the rough inverse, which
    are the errors of the vectors to first order. Residuals and the vectors within the space are in double precision.

    Parameters
    ----------
    L : StructureLaplacian of shape (n, n)
    inverse : RoughInverse
    near : ndarray of shape (n, count)
        Vectors near the solution.
    random_state : int, RandomState instance or None
        A few random vectors start the search space as well, to find what is orthogonal to all vectors nearby.

    Returns
    -------
    Spectrum
        The images of the vectors under the inverse of L are multiples of them to within about 1e-6.
    """
    n, count = near.shape
    spare = check_random_state(random_state).standard_normal((n, _SPARE_VECTORS))
    space = _SearchSpace(L, inverse.trivial, np.column_stack([near, spare]))
    enough = 0.0  # length of a residual
    for step in range(_MOST_STEPS):
        values, vectors, residuals = space.best(count + _SPARE_VECTORS if step < _STEPS_WITH_SPARES else count)
        lengths = np.linalg.norm(residuals, axis=0)
        inaccurate = lengths > enough
        if not inaccurate.any():
            # Among eigenvalues below the shift, the rough inverse does not tell what the inverse would.
            distinct = values[count - 1] > inverse.shift
            return Spectrum(values[:count], with_fixed_signs(vectors[:, :count])) if distinct else None
        errors = inverse(residuals[:, inaccurate] / lengths[inaccurate])
        sizes = np.linalg.norm(errors, axis=0)
        # The next residuals need no solution to see that they are small: the inverse stretches them about as much.
        enough = _TOLERANCE / float(sizes.max())
        if not space.grow(errors / sizes):
            return None
    return None


class _SearchSpace:
    """A growing space of vectors that are orthogonal to the trivial one, with their images under L.

    Parameters
    ----------
    L : StructureLaplacian of shape (n, n)
    trivial : ndarray of shape (n, 1) or (n, 0)
    start : ndarray of shape (n, b)
    """

    def __init__(self, L: StructureLaplacian, trivial: Float, start: Float) -> None:
        n, width = start.shape
        most = min(_MOST_STEPS * width, n // 2)
        self._L, self._trivial, self._size = L, trivial, 0
        self._basis, self._images = np.empty((n, most), order="F"), np.empty((n, most), order="F")
        self._inner = np.zeros((most, most))
        # With the trivial vector in front, those that replace dependent ones are orthogonal to it as well.
        self._append(np.linalg.qr(np.column_stack([trivial, start]))[0][:, trivial.shape[1] :])

    def best(self, count: int) -> tuple[Float, Float, Float]:
        """Return approximate eigenvalues in ascending order, with their vectors and residuals."""
        size = self._size
        values, turn = np.linalg.eigh(self._inner[:size, :size], UPLO="U")
        values, turn = values[:count], turn[:, :count]
        vectors = self._basis[:, :size] @ turn
        return values, vectors, self._images[:, :size] @ turn - vectors * values

    def grow(self, block: Float) -> bool:
        """Add unit vectors, or return False if there is no room for them."""
        if self._size + block.shape[1] > self._basis.shape[1]:
            return False
        self._append(_orthonormal_beyond(self._basis[:, : self._size], block))
        return True

    def _append(self, block: Float) -> None:
        size = self._size + block.shape[1]
        new = slice(self._size, size)
        self._basis[:, new] = block
        self._images[:, new] = project_out(self._trivial, self._L @ block)
        self._inner[:size, new] = self._basis[:, :size].T @ self._images[:, new]
        self._size = size


def _orthonormal_beyond(basis: Float, block: Float) -> Float:
    """Return an orthonormal basis of a block after orthonormal vectors are projected out."""
    block = project_out(basis, block)
    for _ in range(_MOST_PROJECTIONS):
        block = np.linalg.qr(block)[0]
        along = basis.T @ block
        block -= basis @ along
        if np.abs(along).max() <= _ORTHOGONAL:
            break  # else the vectors were nearly within the basis, and are not orthonormal without the rest
    return block
