"""The neighbour graph of samples on a device, its Laplacian, and the kernel of that."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from ufselect._utils.policy import LARGEST_DENSE_SPECTRUM, ROUNDINGS_OF_POINTS
from ufselect._utils.types import Float
from ufselect._utils.warnings import warn_not_converged
from ufselect.gpu.neighbors import nearest_others
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.smooth_target import RESIDUAL, directions, weights_of
from ufselect.graphs.smooth_target import smooth_target as smooth_target_in_memory
from ufselect.graphs.spectral import ABOVE_ESTIMATE, MOST_FILTERINGS, chebyshev_filter, spare_vectors

_FAINT = 1e-6  # squared length of a direction of the warm start that is not worth keeping
_LANCZOS_STEPS = 20


class NeighborGraph(NamedTuple):
    """P: probabilities of the k neighbours of every sample and their indices; and the spreads μᵢ."""

    probabilities: torch.Tensor
    index: torch.Tensor
    spread: torch.Tensor

    def to_scipy(self) -> sp.csr_array:
        """Return P in memory."""
        n, k = self.index.shape
        index, order = self.index.sort(dim=1)
        values = self.probabilities.gather(1, order).double().cpu().numpy()
        graph = sp.csr_array(
            (values.ravel(), index.int().cpu().numpy().ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)
        )
        graph.eliminate_zeros()
        return graph

    def cost(self) -> float:
        """Σᵢ (μᵢ/2)‖pᵢ‖²."""
        return 0.5 * float((self.spread * self.probabilities.square().sum(dim=1)).sum())


def adaptive_neighbors(Z: torch.Tensor, k: int) -> NeighborGraph:
    """Return P with at most k neighbours per sample: Pᵢⱼ = (dᵢ₍k+1₎ − dᵢⱼ)₊ / (k·dᵢ₍k+1₎ − Σ_{j≤k} dᵢ₍j₎).

    Distances that differ only by rounding are equal; if all k + 1 are, k of the neighbours share equally.

    Parameters
    ----------
    Z : Tensor of shape (n, q)
        float32.
    k : int
        Fewer than n.

    Returns
    -------
    NeighborGraph
    """
    points = Z - Z.mean(dim=0)
    nearest = nearest_others(points, min(k + 1, len(Z) - 1))
    distances = _with_equal_ties(nearest.squared_distances, torch.linalg.vector_norm(points, dim=1))
    nearness = distances[:, -1:] - distances[:, :k]
    total = nearness.sum(dim=1, keepdim=True)
    even = torch.full_like(nearness, 1.0 / nearness.shape[1])
    probabilities = torch.where(total > 0.0, nearness / total.clamp(min=torch.finfo(torch.float32).tiny), even)
    return NeighborGraph(probabilities, nearest.index[:, :k], 0.5 * total[:, 0])


def _with_equal_ties(distances: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Make ascending squared distances equal that differ only by rounding, given the norms of the samples."""
    rounding = ROUNDINGS_OF_POINTS * torch.finfo(distances.dtype).eps
    roots = distances.sqrt()
    farther = roots.diff(dim=1) > rounding * (roots[:, 1:] + 2.0 * lengths[:, None])
    first_of_equals = torch.cat([distances[:, :1], torch.where(farther, distances[:, 1:], 0.0)], dim=1)
    return first_of_equals.cummax(dim=1).values


class NeighborLaplacian:
    """L = D − (P + Pᵀ)/2, where D holds the row sums of (P + Pᵀ)/2.

    Parameters
    ----------
    graph : NeighborGraph
    weight : float
        β, by which L is multiplied.
    """

    def __init__(self, graph: NeighborGraph, weight: float) -> None:
        n, k = graph.index.shape
        here = torch.arange(n, device=graph.index.device).repeat_interleave(k)
        there, values = graph.index.ravel(), 0.5 * weight * graph.probabilities.ravel()
        both = torch.stack([torch.cat([here, there]), torch.cat([there, here])])
        degrees = torch.zeros(n, dtype=torch.float32, device=values.device).index_add_(0, both[0], values.repeat(2))
        diagonal = torch.arange(n, device=values.device).expand(2, n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # support of sparse tensors is in beta state
            entries = torch.sparse_coo_tensor(
                torch.cat([both, diagonal], dim=1), torch.cat([-values, -values, degrees]), (n, n)
            )
            self._matrix = entries.coalesce().to_sparse_csr()
        self.size = n

    def __matmul__(self, B: torch.Tensor) -> torch.Tensor:
        return self._matrix @ B

    def combination(self, now: torch.Tensor, before: torch.Tensor, weights: tuple[float, float, float]) -> torch.Tensor:
        """Return a·L·now + b·now + c·before for weights a, b, c."""
        of_image, of_now, of_before = weights
        rest = torch.add(of_now * now, before, alpha=of_before)
        return torch.addmm(rest, self._matrix, now, alpha=of_image)


def smooth_target(graph: NeighborGraph, weight: float, warm_start: torch.Tensor | None, seed: int) -> torch.Tensor:
    """Return T for which TTᵀ is the kernel of βL_P; see :func:`ufselect.graphs.smooth_target.smooth_target`."""
    n = len(graph.index)
    if n <= LARGEST_DENSE_SPECTRUM:  # so few that the graph is decomposed in memory
        T = smooth_target_in_memory(structure_laplacian(None, graph.to_scipy(), weight), nontrivial=True)
        return torch.as_tensor(T, dtype=torch.float32, device=graph.index.device)
    values, vectors = smallest_eigenvectors(NeighborLaplacian(graph, weight), directions(n), warm_start, seed)
    return vectors * torch.as_tensor(np.sqrt(weights_of(values)), dtype=torch.float32, device=vectors.device)


def smallest_eigenvectors(
    L: NeighborLaplacian, count: int, warm_start: torch.Tensor | None, seed: int
) -> tuple[Float, torch.Tensor]:
    """Return the ``count`` smallest eigenpairs of L without the constant vector.

    It is the subspace iteration of :func:`ufselect.graphs.spectral.smallest_eigenvectors`.
    """
    device = L._matrix.device
    generator = torch.Generator(device=device).manual_seed(seed)
    avoided = torch.full((L.size, 1), L.size**-0.5, dtype=torch.float32, device=device)
    size = L.size, count + spare_vectors(count)
    block = torch.randn(size, generator=generator, dtype=torch.float32, device=device)
    if warm_start is not None:
        near = _leading_directions(_apart_from(avoided, warm_start))[:, :count]
        block[:, : near.shape[1]] = near
    top = ABOVE_ESTIMATE * _largest_eigenvalue(L, generator)
    found, values = avoided[:, :0], np.zeros(0)
    for filterings_left in reversed(range(MOST_FILTERINGS)):
        block = _orthonormal(_apart_from(avoided, block))
        ritz, block, residuals = _rayleigh_ritz(L, block, avoided)
        top = max(top, ABOVE_ESTIMATE * float(ritz[-1]))
        wanted = count - len(values)
        done = int(np.argmin(np.append(residuals[:wanted] <= RESIDUAL * top, False)))
        taken = done if filterings_left else wanted
        found, values = torch.cat([found, block[:, :taken]], dim=1), np.append(values, ritz[:taken])
        if taken == wanted:
            break
        avoided = torch.cat([avoided, block[:, :done]], dim=1)
        before = now = block[:, done:].contiguous()
        for weights, drifted in chebyshev_filter(ritz[done:], wanted - done, top, in_double_precision=False):
            before, now = now, L.combination(now, before, weights)
            if drifted:
                before, now = _apart_from(avoided, before), _apart_from(avoided, now)
        block = now
    if done < wanted:
        warn_not_converged(
            f"The eigenvectors on {device} did not converge to {RESIDUAL} after {MOST_FILTERINGS} steps."
        )
    order = np.argsort(values, kind="stable")
    return values[order], found[:, torch.as_tensor(order, device=device)]


def _rayleigh_ritz(
    L: NeighborLaplacian, block: torch.Tensor, avoided: torch.Tensor
) -> tuple[Float, torch.Tensor, Float]:
    """Return the best approximations of eigenpairs within the span of an orthonormal block, and their residuals."""
    image = _apart_from(avoided, L @ block)
    values, rotation = torch.linalg.eigh((block.T @ image).double())
    rotation = rotation.float()
    block = block @ rotation
    residuals = torch.linalg.vector_norm(image @ rotation - block * values.float(), dim=0)
    return _in_memory(values), block, _in_memory(residuals)


def _orthonormal(block: torch.Tensor) -> torch.Tensor:
    """Return an orthonormal basis by two Cholesky factorisations, which take only products of tall matrices."""
    for _ in range(2):
        block = block / torch.linalg.vector_norm(block, dim=0).clamp(min=torch.finfo(torch.float32).tiny)
        inner = (block.T @ block).double()
        inner.diagonal().add_(1e-7 * len(inner))  # rounding of the products
        factor = torch.linalg.cholesky(inner)
        block = block @ torch.linalg.inv(factor).T.float()
    return block


def _leading_directions(A: torch.Tensor) -> torch.Tensor:
    """Return orthonormal directions of the columns of A, the longest first, without negligible ones."""
    squares, vectors = torch.linalg.eigh((A.T @ A).double())
    kept = squares > _FAINT
    return A @ (vectors[:, kept] / squares[kept].sqrt()).flip(1).float()


def _largest_eigenvalue(L: NeighborLaplacian, generator: torch.Generator) -> float:
    """Return the largest eigenvalue that a few steps of Lanczos' method find, plus its residual."""
    basis = torch.zeros((L.size, _LANCZOS_STEPS), dtype=torch.float32, device=generator.device)
    following = torch.randn(L.size, generator=generator, dtype=torch.float32, device=generator.device)
    inner = torch.zeros((_LANCZOS_STEPS, _LANCZOS_STEPS), dtype=torch.float64, device=generator.device)
    for step in range(_LANCZOS_STEPS):
        basis[:, step] = following / torch.linalg.vector_norm(following)
        image = (L @ basis[:, step : step + 1])[:, 0]
        inner[: step + 1, step] = inner[step, : step + 1] = (basis[:, : step + 1].T @ image).double()
        following = image - basis @ (basis.T @ image)
    values, vectors = torch.linalg.eigh(inner)
    residual = torch.linalg.vector_norm(following) * vectors[-1, -1].abs()
    return float(values[-1] + residual)


def _apart_from(avoided: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """Project the vectors onto the complement of an orthonormal set."""
    return vectors - avoided @ (avoided.T @ vectors)


def _in_memory(values: torch.Tensor) -> Any:
    return values.double().cpu().numpy()
