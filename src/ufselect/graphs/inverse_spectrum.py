"""The smallest eigenpairs of a dense matrix by its inverse, of which they are the largest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from ufselect._utils.types import Float

_SHIFT = 1e-10  # relative to a bound of the largest eigenvalue: a singular matrix has an inverse as well
_TOLERANCE = 1e-6
_MOST_STEPS = 20
_STEPS_BETWEEN_CHECKS = 2
_NEARLY = 100.0  # as a multiple of the tolerance: the next step may be the last
_SPARE_VECTORS = 4
_NEGLIGIBLE = 1e-8


def smallest_by_inverse(matrix: Float, count: int, start: Float) -> tuple[Float, Float] | None:
    """Return the ``count`` smallest eigenvalues and their vectors, or None if the iteration does not converge.

    It takes a Cholesky factorisation and a few steps of the block Lanczos method with the inverse. Among crowded small
    eigenvalues, the inverse tells the wanted ones apart from the others; products with the matrix itself hardly do.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric and positive semi-definite. It is overwritten.
    count : int
    start : ndarray of shape (n, b)
        Independent vectors near the solution, with a few spare ones: b is larger than ``count``.
        At most four spare ones are used.

    Returns
    -------
    values : ndarray of shape (count,)
        In ascending order.
    vectors : ndarray of shape (n, count)
        Orthonormal. Their images under the inverse are multiples of them to within 1e-6.
    """
    start = start[:, : count + _SPARE_VECTORS]
    n, width = start.shape
    shift = _SHIFT * float(np.linalg.norm(matrix))
    matrix[np.diag_indices(n)] += shift
    factor, problem = dpotrf(matrix.T, lower=True, clean=False, overwrite_a=True)
    if problem:
        return None
    basis = np.empty((n, (_MOST_STEPS + 1) * width), order="F")
    inner = np.zeros(2 * (basis.shape[1],))  # Vᵀ(matrix⁻¹)V
    basis[:, :width] = np.linalg.qr(start)[0]
    error = np.inf
    for step in range(1, _MOST_STEPS + 1):
        size = step * width
        last, following = slice(size - width, size), slice(size, size + width)
        image, _ = dpotrs(factor, basis[:, last], lower=True)
        inner[:size, last] = _projected_out(basis[:, :size], image)
        basis[:, following], inner[following, last] = _orthonormalized(basis[:, :size], image)
        if step % _STEPS_BETWEEN_CHECKS == 0 or error <= _NEARLY * _TOLERANCE:
            inverses, turn = eigh(inner[:size, :size], lower=False, subset_by_index=[size - count, size - 1])
            error = float(np.max(np.linalg.norm(inner[following, last] @ turn[-width:], axis=0) / inverses))
            if error <= _TOLERANCE:
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
