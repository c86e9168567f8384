"""Local models: a small dense problem for the neighbourhood of every sample, assembled into a sparse matrix.

All models are built from the inner products of the differences xⱼ − xᵢ between a sample i and its neighbours j, which
do not depend on the origin and do not cancel if it is far away.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ufselect._utils.threads import map_row_blocks
from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import neighbor_laplacian
from ufselect.graphs.neighbors import Neighbors, neighbor_graph

_BYTES_AT_ONCE = 2**22  # of differences: more would not stay in the cache between the steps
_FEWEST_SAMPLES = 16  # rows of a sparse X are slow to get one by one


def local_laplacian(
    X: Columns,
    nearest: Neighbors,
    model: str,
    *,
    width: float = 1.0,
    dimension: int = 2,
    n_jobs: int | None = None,
) -> sp.csr_array:
    """Return L, symmetric and positive semi-definite with L1 = 0, that is small on functions that fit a local model.

    Parameters
    ----------
    X : Columns of shape (n, d)
    nearest : Neighbors
        Neighbours of every sample.
    model : {"lpp", "lle", "ltsa"}
        Laplacian of the neighbour graph, locally linear embedding, or local tangent space alignment.
    width : float
        Width of the heat kernel of "lpp".
    dimension : int
        Dimension of the tangent spaces of "ltsa". Its neighbourhoods are a sample and all neighbours but the farthest;
        the dimension is at most two less than their size.
    """
    X = X.for_distances()
    if model == "lpp":
        return neighbor_laplacian(neighbor_graph(X, nearest, width=width))
    if model == "lle":
        grams = difference_grams(X, nearest.index, n_jobs=n_jobs)
        return residual_laplacian(weights_as_matrix(nearest.index, reconstruction_weights(grams)))
    others = nearest.index[:, :-1]
    if others.shape[1] < 2:
        raise ValueError(f"tangent spaces need n_neighbors of at least 3, got {others.shape[1] + 1}.")
    index, grams = with_self(others, difference_grams(X, others, n_jobs=n_jobs))
    return assembled(index, alignment_blocks(centered_grams(grams), min(dimension, index.shape[1] - 2)))


def difference_grams(
    X: Columns,
    index: Indices,
    *,
    rows: Indices | None = None,
    feature_weights: Float | None = None,
    n_jobs: int | None = None,
) -> Float:
    """Return Cᵢ = Zᵢ diag(τ) Zᵢᵀ of shape (n, k, k), where the rows of Zᵢ are the differences xⱼ − xᵢ to neighbours.

    ``index`` of shape (n, k) has the neighbours of the samples in ``rows``, by default all; ``feature_weights`` are τ.
    """
    root = None if feature_weights is None else np.sqrt(feature_weights)
    samples = np.arange(len(index)) if rows is None else rows
    few = max(_BYTES_AT_ONCE // (8 * index.shape[1] * X.shape[1]), _FEWEST_SAMPLES)

    def of_few(block: slice) -> Float:
        here = np.asarray(X.rows(samples[block]), dtype=np.float64)
        there = np.asarray(X.rows(index[block].ravel()), dtype=np.float64)
        differences = there.reshape(*index[block].shape, -1) - here[:, None, :]
        if root is not None:
            differences *= root
        return differences @ differences.transpose(0, 2, 1)

    def of_block(block: slice) -> Float:
        starts = range(block.start, block.stop, few)
        return np.concatenate([of_few(slice(start, min(start + few, block.stop))) for start in starts])

    row_bytes = 24 * (index.shape[1] + 1) * X.shape[1]
    return np.concatenate(map_row_blocks(of_block, len(index), row_bytes, n_jobs))


def with_self(index: Indices, grams: Float) -> tuple[Indices, Float]:
    """Insert every sample as the first member of its own neighbourhood, with zero differences."""
    n, k = index.shape
    widened = np.zeros((n, k + 1, k + 1))
    widened[:, 1:, 1:] = grams
    return np.column_stack([np.arange(n), index]), widened


def centered_grams(grams: Float) -> Float:
    """H Cᵢ H, H = I − 11ᵀ/k."""
    rows = grams - grams.mean(axis=1, keepdims=True)
    return rows - rows.mean(axis=2, keepdims=True)


def assembled(index: Indices, blocks: Float, n_samples: int | None = None) -> sp.csr_array:
    """Return Σᵢ SᵢBᵢSᵢᵀ: add every (k, k) block at the rows and columns of the samples in its neighbourhood.

    There are ``n_samples``, if these are more than the neighbourhoods.
    """
    n, k = index.shape
    size = n_samples or n
    rows = np.repeat(index, k, axis=1).ravel()
    columns = np.tile(index, (1, k)).ravel()
    return sp.csr_array(sp.coo_array((blocks.ravel(), (rows, columns)), shape=(size, size)))


def weights_as_matrix(
    index: Indices, weights: Float, *, rows: Indices | None = None, n_samples: int | None = None
) -> sp.csr_array:
    """Return a square array with ``weights[a]`` in the columns ``index[a]`` of row ``rows[a]``, by default of row a."""
    n, k = index.shape
    size = n_samples or n
    here = np.repeat(np.arange(n) if rows is None else rows, k)
    return sp.csr_array((weights.ravel(), (here, index.ravel())), shape=(size, size))


def residual_laplacian(weights: sp.csr_array) -> sp.csr_array:
    """Return (I−S)ᵀ(I−S), the squared error if the rows of S predict every sample from others."""
    residual = sp.csr_array(sp.eye_array(weights.shape[0]) - weights)
    return sp.csr_array(residual.T @ residual)


def reconstruction_weights(grams: Float, *, ridge: float = 1e-3) -> Float:
    """LLE: the weights, with a sum of one, with which the neighbours reconstruct a sample best.

    Solve (Cᵢ + ridge·tr(Cᵢ)I)w = 1 and divide by the sum. If all neighbours coincide with the sample, all weights are
    equal.
    """
    n, k, _ = grams.shape
    trace = np.einsum("ijj->i", grams)
    safe = np.where(trace > 0.0, trace, 1.0)
    system = grams / safe[:, None, None] + ridge * np.eye(k)
    system[trace == 0.0] = np.eye(k)
    weights = np.linalg.solve(system, np.ones((n, k, 1)))[..., 0]
    return weights / weights.sum(axis=1, keepdims=True)


def alignment_blocks(centered: Float, dimension: int) -> Float:
    """LTSA: I − GᵢGᵢᵀ with Gᵢ = [1/√k, Vᵢ], where Vᵢ are the leading p ≤ k − 2 tangent coordinates.

    They come from the inner products of the centred neighbourhoods.
    """
    _, k, _ = centered.shape
    if dimension > k - 2:
        raise ValueError(
            f"tangent spaces of dimension {dimension} need neighbourhoods of at least {dimension + 2} samples, got {k}."
        )
    # The constant vector is excluded; a neighbourhood of lower rank has fewer tangent coordinates.
    trace = np.einsum("ijj->i", centered)
    apart = np.where(trace > 0.0, trace, 1.0)
    values, vectors = np.linalg.eigh(centered - apart[:, None, None] / k)
    flat = values[:, k - dimension :] <= 1e-12 * apart[:, None]
    tangent = np.where(flat[:, None, :], 0.0, vectors[:, :, k - dimension :])
    return np.eye(k) - 1.0 / k - tangent @ tangent.transpose(0, 2, 1)


def discriminant_blocks(centered: Float, ridge: float) -> Float:
    """UDFS: H(X̃ᵢX̃ᵢᵀ + λI)⁻¹H, small in directions in which the neighbourhood varies."""
    k = centered.shape[1]
    # Along 1, where X̃ᵢX̃ᵢᵀ is zero, the inverse is 1/λ until H removes it. With s11ᵀ/k, which H removes as well, it is
    # no larger than in other directions, so that nothing cancels if λ is small.
    s = np.trace(centered, axis1=1, axis2=2)[:, None, None]
    inverse = np.asarray(np.linalg.inv(centered + s / k + ridge * np.eye(k)), dtype=np.float64)
    return centered_grams(inverse)


def kernel_prediction_weights(kernels: Float, ridge: float) -> Float:
    """Local learning: kᵢᵀ(Kᵢ + λI)⁻¹, the weights of kernel ridge regression from neighbours.

    ``kernels`` of shape (n, k + 1, k + 1) are those between the members of a neighbourhood, the sample itself first.
    """
    k = kernels.shape[1] - 1
    system = kernels[:, 1:, 1:] + ridge * np.eye(k)
    return np.asarray(np.linalg.solve(system, kernels[:, 1:, :1])[..., 0], dtype=np.float64)


def gaussian_of_grams(grams: Float, squared_width: float) -> Float:
    """Return exp(−‖xⱼ−xₗ‖²/(2t²)) between the members of every neighbourhood, given their inner products."""
    squares = np.einsum("ijj->ij", grams)
    distances = squares[:, :, None] + squares[:, None, :] - 2.0 * grams
    return np.exp(-np.maximum(distances, 0.0) / (2.0 * squared_width))
