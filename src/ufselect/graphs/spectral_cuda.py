"""The Laplacian of neighbour probabilities on a device, and its smallest eigenvectors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from ufselect._utils.policy import LARGEST_DENSE_SPECTRUM
from ufselect._utils.types import Float
from ufselect._utils.warnings import warn_not_converged
from ufselect.columns.arrays import in_memory
from ufselect.graphs.laplacian import StructureLaplacian, structure_laplacian
from ufselect.graphs.spectral import Spectrum
from ufselect.graphs.spectral import smallest_eigenvectors as smallest_in_memory
from ufselect.graphs.subspace_iteration import ABOVE_ESTIMATE, MOST_FILTERINGS, chebyshev_filter, spare_vectors

_FAINT = 1e-6  # squared length of a direction of the warm start that is not worth keeping
_LANCZOS_STEPS = 20


class TensorLaplacian:
    """L = D − (P + Pᵀ)/2, where D holds the row sums of (P + Pᵀ)/2.

    Parameters
    ----------
    graph : TensorNeighborhoods
    """

    def __init__(self, graph: Any) -> None:
        n, k = graph.index.shape
        here = torch.arange(n, device=graph.index.device).repeat_interleave(k)
        there, values = graph.index.ravel(), 0.5 * graph.probabilities.ravel()
        both = torch.stack([torch.cat([here, there]), torch.cat([there, here])])
        degrees = torch.zeros(n, dtype=torch.float32, device=values.device).index_add_(0, both[0], values.repeat(2))
        diagonal = torch.arange(n, device=values.device).expand(2, n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # support of sparse tensors is in beta state
            entries = torch.sparse_coo_tensor(
                torch.cat([both, diagonal], dim=1), torch.cat([-values, -values, degrees]), (n, n)
            )
            self._matrix = entries.coalesce().to_sparse_csr()
        self._graph = graph
        self.shape = (n, n)
        self.device = values.device

    def __matmul__(self, B: torch.Tensor) -> torch.Tensor:
        return self._matrix @ B

    def combination(self, now: torch.Tensor, before: torch.Tensor, weights: tuple[float, float, float]) -> torch.Tensor:
        """Return a·L·now + b·now + c·before for weights a, b, c."""
        of_image, of_now, of_before = weights
        rest = torch.add(of_now * now, before, alpha=of_before)
        return torch.addmm(rest, self._matrix, now, alpha=of_image)

    def in_memory(self) -> StructureLaplacian:
        """Return L in memory."""
        return structure_laplacian(None, self._graph.P, 1.0)


def smallest_eigenvectors(
    L: TensorLaplacian,
    count: int,
    *,
    nontrivial: bool,
    tol: float,
    warm_start: torch.Tensor | None = None,
    n_jobs: int | None = None,  # noqa: ARG001 - as in memory
    random_state: Any = 0,
) -> Spectrum:
    """Return the ``count`` smallest eigenpairs of L, without the constant vector if ``nontrivial``.

    It is the subspace iteration of :func:`ufselect.graphs.spectral.smallest_eigenvectors`. So few samples that the
    graph is decomposed there are sent to memory.
    """
    n, device = L.shape[0], L.device
    if n <= LARGEST_DENSE_SPECTRUM:
        few = smallest_in_memory(L.in_memory(), count, nontrivial=nontrivial)
        return Spectrum(few.values, torch.as_tensor(few.vectors, dtype=torch.float32, device=device))
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    generator = torch.Generator(device=device).manual_seed(seed)
    avoided = torch.full((n, int(nontrivial)), n**-0.5, dtype=torch.float32, device=device)
    size = n, count + spare_vectors(count)
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
        done = int(np.argmin(np.append(residuals[:wanted] <= tol * top, False)))
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
        warn_not_converged(f"The eigenvectors on {device} did not converge to tol={tol} after {MOST_FILTERINGS} steps.")
    order = np.argsort(values, kind="stable")
    return Spectrum(values[order], found[:, torch.as_tensor(order, device=device)])


def _rayleigh_ritz(L: TensorLaplacian, block: torch.Tensor, avoided: torch.Tensor) -> tuple[Float, torch.Tensor, Float]:
    """Return the best approximations of eigenpairs within the span of an orthonormal block, and their residuals."""
    image = _apart_from(avoided, L @ block)
    values, rotation = torch.linalg.eigh((block.T @ image).double())
    rotation = rotation.float()
    block = block @ rotation
    residuals = torch.linalg.vector_norm(image @ rotation - block * values.float(), dim=0)
    return in_memory(values), block, in_memory(residuals)


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


def _largest_eigenvalue(L: TensorLaplacian, generator: torch.Generator) -> float:
    """Return the largest eigenvalue that a few steps of Lanczos' method find, plus its residual."""
    basis = torch.zeros((L.shape[0], _LANCZOS_STEPS), dtype=torch.float32, device=generator.device)
    following = torch.randn(L.shape[0], generator=generator, dtype=torch.float32, device=generator.device)
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
