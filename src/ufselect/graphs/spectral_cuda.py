"""The Laplacian of neighbour probabilities on a device, and its smallest eigenvectors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from ufselect._utils.policy import LARGEST_DENSE_SPECTRUM
from ufselect._utils.warnings import warn_not_converged
from ufselect.columns.arrays import fill_with_normal
from ufselect.graphs.laplacian import StructureLaplacian, Weights, structure_laplacian
from ufselect.graphs.spectral import Spectrum
from ufselect.graphs.spectral import smallest_eigenvectors as smallest_in_memory
from ufselect.graphs.subspace_iteration import MOST_FILTERINGS, iterate

_LANCZOS_STEPS = 20


class TensorLaplacian:
    """L = D − (P + Pᵀ)/2 of some TensorNeighborhoods, where D holds the row sums of (P + Pᵀ)/2."""

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

    def combination(
        self, now: Any, before: Any, weights: Weights, n_jobs: int | None = None, *, overwrite: bool = False
    ) -> torch.Tensor:
        """Return a·L·now + b·now + c·before for weights a, b, c."""
        of_image, of_now, of_before = weights
        rest = before.mul_(of_before) if overwrite else of_before * before
        return torch.addmm(rest.add_(now, alpha=of_now), self._matrix, now, alpha=of_image)

    def largest_eigenvalue(self, rng: np.random.RandomState) -> float:
        """Return the largest eigenvalue that a few steps of Lanczos' method find, plus its residual."""
        n = self.shape[0]
        basis = torch.zeros((n, _LANCZOS_STEPS), dtype=torch.float32, device=self.device)
        following = torch.empty(n, dtype=torch.float32, device=self.device)
        fill_with_normal(following, rng)
        inner = torch.zeros((_LANCZOS_STEPS, _LANCZOS_STEPS), dtype=torch.float64, device=self.device)
        for step in range(_LANCZOS_STEPS):
            basis[:, step] = following / torch.linalg.vector_norm(following)
            image = (self._matrix @ basis[:, step : step + 1])[:, 0]
            inner[: step + 1, step] = inner[step, : step + 1] = (basis[:, : step + 1].T @ image).double()
            following = image - basis @ (basis.T @ image)
        values, vectors = torch.linalg.eigh(inner)
        residual = torch.linalg.vector_norm(following) * vectors[-1, -1].abs()
        return float(values[-1] + residual)

    def in_order_of_neighbors(self, dtype: Any) -> tuple[TensorLaplacian, slice]:
        """Return L as it is."""
        return self, slice(None)

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
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> Spectrum:
    """Return the ``count`` smallest eigenpairs of L, without the constant vector if ``nontrivial``.

    So few samples that the graph is decomposed in memory are sent there.
    """
    n, device = L.shape[0], L.device
    if n <= LARGEST_DENSE_SPECTRUM:
        few = smallest_in_memory(L.in_memory(), count, nontrivial=nontrivial)
        return Spectrum(few.values, torch.as_tensor(few.vectors, dtype=torch.float32, device=device))
    avoided = torch.full((n, int(nontrivial)), n**-0.5, dtype=torch.float32, device=device)
    values, vectors, converged = iterate(L, count, avoided, warm_start, tol, n_jobs, random_state)
    if not converged:
        warn_not_converged(f"The eigenvectors on {device} did not converge to tol={tol} after {MOST_FILTERINGS} steps.")
    return Spectrum(values, vectors)
