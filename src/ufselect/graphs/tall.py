"""Operations on tall blocks of vectors, a few rows at a time: none needs a second block of the same size."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import gen_batches

from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float

_ROWS_AT_ONCE = 2**16


def rotate(block: Float, rotation: Float) -> None:
    """Replace a block B by BR, for a square R."""
    rotation = rotation.astype(block.dtype, copy=False)
    with threads_for(2.0 * block.size * len(rotation)):
        for rows in gen_batches(len(block), _ROWS_AT_ONCE):
            block[rows] = block[rows] @ rotation


def project_out(avoided: Float, block: Float) -> Float:
    """Project a block onto the complement of orthonormal vectors, in place, and return it."""
    if avoided.shape[1]:
        with threads_for(4.0 * block.size * avoided.shape[1]):
            along = avoided.T @ block
            for rows in gen_batches(len(block), _ROWS_AT_ONCE):
                block[rows] -= avoided[rows] @ along
    return block


def orthonormalize(block: Float) -> Float:
    """Return an orthonormal basis of the columns of a block, which is overwritten if it is in single precision.

    A Cholesky factor of BᵀB, formed in double precision, makes the columns of B nearly orthonormal if they are
    independent to half of the digits, and that of the result makes them so to all digits of single precision.
    """
    if block.dtype == np.float32:
        try:
            for _ in range(2):
                factor = np.linalg.cholesky(_squares(block))
                rotate(block, solve_triangular(factor, np.eye(len(factor)), lower=True).T)
        except np.linalg.LinAlgError:
            pass  # the columns depend on each other, which the slower factorisation below can take
        else:
            return block
    return np.linalg.qr(block)[0]


def _squares(block: Float) -> Float:
    """BᵀB in double precision."""
    total = np.zeros((block.shape[1], block.shape[1]))
    with threads_for(float(block.size) * block.shape[1]):
        for rows in gen_batches(len(block), _ROWS_AT_ONCE):
            part = block[rows].astype(np.float64)
            total += part.T @ part
    return total


def residuals(image: Float, rotation: Float, block: Float, values: Float) -> Float:
    """Return the norms of the columns of AR − B diag(λ)."""
    rotation, values = rotation.astype(block.dtype, copy=False), values.astype(block.dtype, copy=False)
    squares = np.zeros(block.shape[1])
    with threads_for(2.0 * block.size * len(rotation)):
        for rows in gen_batches(len(block), _ROWS_AT_ONCE):
            part = image[rows] @ rotation - block[rows] * values
            squares += np.einsum("ij,ij->j", part, part, dtype=np.float64)
    return np.sqrt(squares)
