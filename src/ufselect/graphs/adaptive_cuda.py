"""FSASL's P on a device: neighbour probabilities of samples that are tensors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from ufselect._utils.policy import ROUNDINGS_OF_POINTS
from ufselect.graphs.neighbors_cuda import nearest_others
from ufselect.graphs.spectral_cuda import TensorLaplacian

_ROWS_AT_ONCE = 2**17


class TensorNeighborhoods(NamedTuple):
    """Probabilities of the k neighbours of every sample and their indices; and the spreads μᵢ."""

    probabilities: torch.Tensor
    index: torch.Tensor
    spread: torch.Tensor

    @property
    def P(self) -> sp.csr_array:
        """P in memory."""
        n, k = self.index.shape
        index, order = self.index.sort(dim=1)
        values = self.probabilities.gather(1, order).double().cpu().numpy()
        graph = sp.csr_array(
            (values.ravel(), index.int().cpu().numpy().ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)
        )
        graph.eliminate_zeros()
        return graph

    @property
    def recall(self) -> float:
        """The share of the true neighbours that were found: all of them."""
        return 1.0

    def laplacian(self) -> TensorLaplacian:
        """L_P."""
        return TensorLaplacian(self)

    def cost(self, Z: torch.Tensor) -> float:
        """tr(ZᵀL_P Z) + Σᵢ (μᵢ/2)‖pᵢ‖², the trace by differences, which lose no digits."""
        roughness = 0.0
        for rows in torch.arange(len(Z), device=Z.device).split(_ROWS_AT_ONCE):
            differences = Z[rows][:, None, :] - Z[self.index[rows]]
            roughness += 0.5 * float((self.probabilities[rows] * differences.square().sum(dim=2)).sum())
        return roughness + 0.5 * float((self.spread * self.probabilities.square().sum(dim=1)).sum())


def adaptive_neighbors(Z: torch.Tensor, k: int) -> TensorNeighborhoods:
    """Return P with at most k < n neighbours per sample: Pᵢⱼ = (dᵢ₍k+1₎ − dᵢⱼ)₊ / (k·dᵢ₍k+1₎ − Σ_{j≤k} dᵢ₍j₎).

    Distances that differ only by rounding are equal; if all k + 1 are, k of the neighbours share equally.
    """
    points = Z - Z.mean(dim=0)
    nearest = nearest_others(points, min(k + 1, len(Z) - 1))
    distances = _with_equal_ties(nearest.squared_distances, torch.linalg.vector_norm(points, dim=1))
    nearness = distances[:, -1:] - distances[:, :k]
    total = nearness.sum(dim=1, keepdim=True)
    even = torch.full_like(nearness, 1.0 / nearness.shape[1])
    probabilities = torch.where(total > 0.0, nearness / total.clamp(min=torch.finfo(torch.float32).tiny), even)
    return TensorNeighborhoods(probabilities, nearest.index[:, :k], 0.5 * total[:, 0])


def _with_equal_ties(distances: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Make ascending squared distances equal that differ only by rounding, given the norms of the samples."""
    rounding = ROUNDINGS_OF_POINTS * torch.finfo(distances.dtype).eps
    roots = distances.sqrt()
    farther = roots.diff(dim=1) > rounding * (roots[:, 1:] + 2.0 * lengths[:, None])
    first_of_equals = torch.cat([distances[:, :1], torch.where(farther, distances[:, 1:], 0.0)], dim=1)
    return first_of_equals.cummax(dim=1).values
