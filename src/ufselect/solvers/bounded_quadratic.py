"""Convex quadratic functions over x ≥ 0, and the Cholesky factors that they take.

A symmetric matrix in C order is given by its upper triangle. Its transpose is in Fortran order, given by the lower
triangle: LAPACK need not copy it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve, get_blas_funcs, get_lapack_funcs

from ufselect._utils.types import Float, Indices
from ufselect.solvers._row_kernels import upper_triangle


def least_of_quadratic(hessian: Float, gradient: Float, now: Float) -> tuple[Float, Indices, Float]:
    """Minimise ½(x − x₀)ᵀH(x − x₀) + gᵀ(x − x₀) over x ≥ 0, if an entry that would once become negative stays zero.

    It may not be the minimum, as some of these would come back, but takes few factors of parts of H.

    Parameters
    ----------
    hessian : ndarray of shape (d, d)
        The upper triangle of H, in either precision.
    gradient : ndarray of shape (d,)
        g.
    now : ndarray of shape (d,)
        x₀.

    Returns
    -------
    x : ndarray of shape (d,)
    positive : ndarray of int
        The positive entries of x.
    factor : ndarray
        The lower Cholesky factor of H for these.

    Raises
    ------
    LinAlgError
        If H is not positive definite, for example by rounding.
    """
    inside, least = np.arange(len(now)), np.zeros_like(now)
    while len(inside):
        pull = gradient[inside]
        if len(inside) < len(now):
            bound = now.copy()
            bound[inside] = 0.0
            pull = pull - _product_by_upper(hessian, bound)[inside]
        factor = _factor_of_part(hessian, inside)
        found = now[inside] - solved_by_factor(factor, pull)
        if np.all(found > 0.0):
            least[inside] = found
            return least, inside, factor
        inside = inside[found > 0.0]
    return least, inside, np.zeros((0, 0))


def step_up_to_first_bound(hessian: Float, gradient: Float, now: Float) -> Float:
    """Return the step to the minimum of the positive entries without bounds, cut where the first one becomes zero.

    The function decreases along it. Parameters are those of :func:`least_of_quadratic`.
    """
    positive = np.flatnonzero(now > 0.0)
    step = np.zeros_like(now)
    step[positive] = -solved_by_factor(_factor_of_part(hessian, positive), gradient[positive])
    shrinking = step < 0.0
    return step * min(1.0, float(np.min(now[shrinking] / -step[shrinking], initial=1.0)))


def _factor_of_part(matrix: Float, rows: Indices) -> Float:
    """Return the lower Cholesky factor of some rows and columns of a matrix, given by its upper triangle."""
    if len(rows) == len(matrix):
        return factor_of_upper(matrix)
    unscaled = np.ones(len(rows), dtype=matrix.dtype)
    return factor_of_upper(upper_triangle(matrix, rows, unscaled, matrix.dtype.type(0.0)), overwrite=True)


def factor_of_upper(matrix: Float, *, overwrite: bool = False) -> Float:
    """Return the lower Cholesky factor of a matrix, given by its upper triangle."""
    return np.asarray(cho_factor(matrix.T, lower=True, overwrite_a=overwrite, check_finite=False)[0])


def solved_by_factor(factor: Float, right: Float) -> Float:
    """Solve a system by its lower Cholesky factor, in the precision of that."""
    unit = _power_of_two(right)
    solution = cho_solve((factor, True), (right / unit).astype(factor.dtype), check_finite=False)
    return unit * np.asarray(solution, dtype=np.float64)


def _product_by_upper(matrix: Float, vector: Float) -> Float:
    """Multiply a vector by a matrix that is given by its upper triangle, in the precision of that."""
    (multiply,) = get_blas_funcs(("symv",), (matrix,))
    unit = _power_of_two(vector)
    return unit * np.asarray(multiply(1.0, matrix.T, vector / unit, lower=True), dtype=np.float64)


def _power_of_two(values: Float) -> float:
    """Return the magnitude of values: in this unit, single precision has a place for them."""
    return 2.0 ** math.frexp(np.abs(values).max(initial=0.0))[1]


def inverse_triangle(factor: Float, *, overwrite: bool = True) -> Float:
    """Return the lower triangle of (LLᵀ)⁻¹ for a lower Cholesky factor L."""
    if not factor.size:  # LAPACK would print a complaint
        return factor
    (invert,) = get_lapack_funcs(("potri",), (factor,))
    return np.asarray(invert(factor, lower=True, overwrite_c=overwrite)[0])
