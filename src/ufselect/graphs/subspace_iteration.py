"""Subspace iteration with a Chebyshev filter, for the smallest eigenpairs of a Laplacian that is only applied.

Blocks of vectors are NumPy arrays or tensors. They are tall, so that operations on them take a few rows at a time: none
needs a second block. What has one row per vector is computed in memory, in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state, gen_batches

from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float, Indices
from ufselect.columns.arrays import beside, fill_with_normal, in_memory, namespace
from ufselect.graphs.laplacian import Weights

_ABOVE_ESTIMATE = 1.02
MOST_FILTERINGS = 60
FEWEST_SPARE_VECTORS = 8
_LOWEST_DEGREE = 16
_NARROWEST_GAP = 1e-4
_LARGEST_DRIFT = 1e3
_ROWS_AT_ONCE = 2**16


def iterate(
    L: Any, count: int, avoided: Any, warm_start: Any, tol: float, n_jobs: int | None, random_state: Any
) -> tuple[Float, Any, bool]:
    """Subspace iteration with a Chebyshev filter, in the complement of some orthonormal vectors.

    The filter is a polynomial in L that is small on the unwanted part of the spectrum and grows fast below it: it
    replaces a preconditioner and only needs products with L. A few spare vectors make the convergence depend on a gap
    further up the spectrum, and find copies of a repeated eigenvalue that a warm start has missed. Unlike LOBPCG, it
    never inverts a Gram matrix that a good start makes singular, and it does not wait for the spare vectors. Its
    precision and its device are those of the avoided vectors. Also returns whether all vectors have converged.
    """
    # With neighbours near to each other in memory, if there are so many samples that it matters.
    L, order = L.in_order_of_neighbors(avoided.dtype)
    avoided = avoided[order]
    rng, xp = check_random_state(random_state), namespace(avoided)
    block = starting_block(rng, order, count, avoided, warm_start)
    top = _ABOVE_ESTIMATE * L.largest_eigenvalue(rng)
    # The avoided vectors and those that have converged, which are avoided from then on.
    n_avoided, values = avoided.shape[1], np.zeros(0)
    kept = xp.empty((L.shape[0], n_avoided + count), dtype=avoided.dtype, device=avoided.device)
    kept[:, :n_avoided] = avoided
    for filterings_left in reversed(range(MOST_FILTERINGS)):
        avoided = kept[:, : n_avoided + len(values)]
        block = orthonormalize(project_out(avoided, block))
        ritz, block, errors = _rayleigh_ritz(L, block, avoided, n_jobs)
        top = max(top, _ABOVE_ESTIMATE * ritz[-1])  # eigenvalues above the top would grow; they show here
        wanted = count - len(values)
        done = int(np.argmin(np.append(errors[:wanted] <= tol * top, False)))
        taken = done if filterings_left else wanted
        kept[:, avoided.shape[1] : avoided.shape[1] + taken] = block[:, :taken]
        values = np.append(values, ritz[:taken])
        if taken == wanted:
            break
        if done:  # Converged vectors leave the block, or their growth would drown the others.
            avoided, block = kept[:, : n_avoided + len(values)], xp.asarray(block[:, done:], copy=True)
        block = _chebyshev_filtered(L, block, ritz[done:], wanted - done, top, avoided, n_jobs)
    ascending = np.argsort(values, kind="stable")
    found = kept[:, n_avoided + ascending]
    vectors = xp.empty_like(found)
    vectors[order] = found
    return values[ascending], vectors, done == wanted


def starting_block(rng: Any, order: Indices | slice, count: int, avoided: Any, warm_start: Any) -> Any:
    """Return a random block with a few spare vectors, the first ones replaced by the warm start."""
    xp = namespace(avoided)
    width = count + max(FEWEST_SPARE_VECTORS, count // 2)
    block = xp.empty((len(avoided), width), dtype=avoided.dtype, device=avoided.device)
    fill_with_normal(block, rng)
    if warm_start is not None:
        near = project_out(avoided, xp.asarray(warm_start[order], dtype=avoided.dtype, copy=True))
        squares, directions = np.linalg.eigh(in_memory(near.T @ near).astype(np.float64))
        kept = min(int(np.count_nonzero(squares > 1e-6)), count)
        leading = directions[:, ::-1][:, :kept] / np.sqrt(squares[::-1][:kept])
        block[:, :kept] = near @ beside(near, leading)
    return block


def _rayleigh_ritz(L: Any, block: Any, avoided: Any, n_jobs: int | None) -> tuple[Float, Any, Float]:
    """Return the best approximations of eigenpairs within the span of an orthonormal block, and their residuals."""
    image = project_out(avoided, L.combination(block, block, (1.0, 0.0, 0.0), n_jobs))
    values, rotation = np.linalg.eigh(in_memory(block.T @ image).astype(np.float64))
    both = beside(block, np.vstack([rotation, values]))  # one copy to a device
    rotate(block, both[:-1])
    return values, block, residuals(image, both[:-1], block, both[-1])


def _chebyshev_filtered(
    L: Any, now: Any, values: Float, count: int, top: float, avoided: Any, n_jobs: int | None
) -> Any:
    """Apply the Chebyshev polynomial that is bounded between the block's last Ritz value and ``top``, in place."""
    before = now
    for weights, drifted in chebyshev_filter(values, count, top, in_double_precision=now.itemsize == 8):
        before, now = now, L.combination(now, before, weights, n_jobs, overwrite=before is not now)
        if drifted:
            before, now = project_out(avoided, before), project_out(avoided, now)
    return now


def chebyshev_filter(values: Float, count: int, top: float, *, in_double_precision: bool) -> list[tuple[Weights, bool]]:
    """Return the steps of a polynomial in L that is small above the last of a block's Ritz values, and grows below it.

    The Ritz values are ascending, the first ``count`` of them are wanted, and ``top`` bounds the spectrum of L. A step
    has weights a, b, c of aL·now + b·now + c·before, and says whether avoided vectors may have come back by rounding.
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
    steps = [((sigma / radius, -centre * sigma / radius, 0.0), False)]
    for step in range(1, degree):
        following = 1.0 / (2.0 / first - sigma)
        scale = 2.0 * following / radius
        steps.append(((scale, -centre * scale, -sigma * following), step % patience == 0))
        sigma = following
    return steps


def rotate(block: Any, rotation: Any) -> None:
    """Replace a block B by BR, for a square R of its precision."""
    with threads_for(2.0 * len(block) * rotation.shape[0] ** 2):
        for rows in gen_batches(len(block), _ROWS_AT_ONCE):
            block[rows] = block[rows] @ rotation


def project_out(avoided: Any, block: Any) -> Any:
    """Project a block onto the complement of orthonormal vectors, in place, and return it."""
    if avoided.shape[1]:
        with threads_for(4.0 * len(block) * block.shape[1] * avoided.shape[1]):
            along = avoided.T @ block
            for rows in gen_batches(len(block), _ROWS_AT_ONCE):
                block[rows] -= avoided[rows] @ along
    return block


def orthonormalize(block: Any) -> Any:
    """Return an orthonormal basis of the columns of a block, which is overwritten if it is in single precision.

    A Cholesky factor of BᵀB, formed in double precision, makes the columns of B nearly orthonormal if they are
    independent to half of the digits, and that of the result makes them so to all digits of single precision.
    """
    if block.itemsize == 4:
        try:
            for _ in range(2):
                factor = np.linalg.cholesky(_squares(block))
                rotate(block, beside(block, solve_triangular(factor, np.eye(len(factor)), lower=True).T))
        except np.linalg.LinAlgError:
            pass  # the columns depend on each other, which the slower factorisation below can take
        else:
            return block
    return namespace(block).linalg.qr(block)[0]


def _squares(block: Any) -> Float:
    """BᵀB in double precision."""
    xp, total = namespace(block), 0.0
    with threads_for(float(len(block)) * block.shape[1] ** 2):
        for rows in gen_batches(len(block), _ROWS_AT_ONCE):
            part = xp.asarray(block[rows], dtype=xp.float64)
            total = total + part.T @ part
    return in_memory(total)


def residuals(image: Any, rotation: Any, block: Any, values: Any) -> Float:
    """Return the norms of the columns of AR − B diag(λ)."""
    xp, squares = namespace(block), 0.0
    with threads_for(2.0 * len(block) * rotation.shape[0] ** 2):
        for rows in gen_batches(len(block), _ROWS_AT_ONCE):
            part = xp.asarray(image[rows] @ rotation - block[rows] * values, dtype=xp.float64)
            squares = squares + xp.einsum("ij,ij->j", part, part)
    return np.sqrt(in_memory(squares))
