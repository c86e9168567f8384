"""FSASL's P: neighbour probabilities learned from distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ufselect._utils.types import Float, Indices
from ufselect.columns.arrays import is_tensor
from ufselect.graphs.approximate import approximate_others
from ufselect.graphs.laplacian import StructureLaplacian, quadratic_form, structure_laplacian
from ufselect.graphs.neighbors import Neighbors, NeighborSearch
from ufselect.solvers.nonnegative import project_rows_onto_simplex


@dataclass(frozen=True)
class Neighborhoods:
    """P, the spreads μᵢ of its rows, and the share of the true neighbours that were found."""

    P: sp.csr_array
    spread: Float
    recall: float = 1.0

    def laplacian(self) -> StructureLaplacian:
        """L_P, which is not kept, as it takes more memory than P."""
        return structure_laplacian(None, self.P, 1.0)

    def cost(self, Z: Float) -> float:
        """tr(ZᵀL_P Z) + Σᵢ (μᵢ/2)‖pᵢ‖²."""
        return quadratic_form(self.laplacian(), Z) + 0.5 * float(self.spread @ self.P.power(2).sum(axis=1))


def adaptive_neighbors(
    Z: Any,
    n_neighbors: int,
    *,
    spread: str | Float = "row",
    approximate: bool = False,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> Any:
    """Minimise Σⱼ ½‖zᵢ−zⱼ‖²Pᵢⱼ + (μᵢ/2)Pᵢⱼ² over the simplex, exactly, for every sample i.

    Row i is the projection of −dᵢ/(2μᵢ) onto the simplex, where dᵢ are the squared distances to the others. Only the
    nearest neighbours can have nonzero probabilities; more of them are fetched as long as the farthest one still has
    a positive probability. If Z is a tensor, P and μ stay on its device.

    Distances that differ only by rounding are equal. A neighbour as far away as the (k+1)-th nearest gets nothing. If
    the k + 1 nearest are all at the same distance, μᵢ = 0, and the samples at this distance share the probability
    equally, which is the limit for μᵢ → 0. So P depends neither on the order of the samples nor on how they are stored.
    The exception is a sample with more than 4,000,000/n others at its smallest distance, of which those with the lowest
    indices share.

    With the spread "row", μᵢ = ½(k·dᵢ₍k+1₎ − Σ_{j≤k} dᵢ₍j₎), which gives every sample k neighbours; with "mean" all
    rows have the mean of these, as in the paper; or it is the values themselves. Neighbours may be approximate with
    "row".
    """
    if is_tensor(Z):
        from ufselect.graphs.adaptive_cuda import adaptive_neighbors as on_device

        return on_device(Z, n_neighbors)
    count = min(n_neighbors + 1, Z.shape[0] - 1)
    if approximate:
        found = approximate_others(Z, count, n_jobs=n_jobs, random_state=random_state)
        by_row = _spread_of_k_neighbors(found.nearest.squared_distances, n_neighbors)
        return Neighborhoods(neighbor_probabilities(found.nearest, n_neighbors), by_row, found.recall)
    search = NeighborSearch(Z, n_jobs=n_jobs)
    if not isinstance(spread, str):
        return Neighborhoods(_projected_graph(search, spread, n_neighbors), spread)
    nearest = search.nearest(count, with_ties=spread == "row")
    by_row = _spread_of_k_neighbors(nearest.squared_distances, n_neighbors)
    if spread == "row":
        return Neighborhoods(neighbor_probabilities(nearest, n_neighbors), by_row)
    mu = np.full_like(by_row, by_row.mean())
    return Neighborhoods(_projected_graph(search, mu, n_neighbors), mu)


def neighbor_probabilities(nearest: Neighbors, k: int) -> sp.csr_array:
    """Return P in closed form for k neighbours per sample, given at least the k + 1 nearest.

    Pᵢⱼ = (dᵢ₍k+1₎ − dᵢⱼ)₊ / (k·dᵢ₍k+1₎ − Σ_{j≤k} dᵢ₍j₎). If all of these distances are equal, those at this distance
    share equally, as far as they are known.
    """
    nearness = _nearness(nearest.squared_distances, k)
    total = nearness.sum(axis=1)
    settled = total > 0.0
    nearness /= np.where(settled, total, 1.0)[:, None]
    graph = _as_graph(nearness, nearest.index)
    return graph if settled.all() else sp.csr_array(graph + _shared_by_nearest(nearest, ~settled))


def _spread_of_k_neighbors(distances: Float, k: int) -> Float:
    """μᵢ = ½(k·dᵢ₍k+1₎ − Σ_{j≤k} dᵢ₍j₎); the k-th distance replaces the (k+1)-th if there is none."""
    return 0.5 * _nearness(distances, k).sum(axis=1)


def _nearness(distances: Float, k: int) -> Float:
    """Return dᵢ₍k+1₎ − dᵢ₍j₎ for j ≤ k, given ascending distances; the last replaces the (k+1)-th if there is none."""
    return distances[:, min(k, distances.shape[1] - 1), None] - distances[:, :k]


def _shared_by_nearest(nearest: Neighbors, rows: npt.NDArray[np.bool_]) -> sp.csr_array:
    """Return a graph in which samples are joined to all that are as near as their nearest; other rows are empty."""
    n = len(rows)
    here, place = np.nonzero((nearest.squared_distances == nearest.squared_distances[:, :1]) & rows[:, None])
    there = nearest.index[here, place]
    if nearest.tied is not None:
        more = rows[nearest.tied[0]]
        here = np.concatenate([here, nearest.tied[0][more]])
        there = np.concatenate([there, nearest.tied[1][more]])
    shares = 1.0 / np.maximum(np.bincount(here, minlength=n), 1)
    return sp.coo_array((shares[here], (here, there)), shape=(n, n)).tocsr()


def _projected_graph(search: NeighborSearch, mu: Float, k: int) -> sp.csr_array:
    """Project row by row, doubling the number of neighbours of the rows that need more.

    If μ = 0, the nearest neighbours share all of the probability.
    """
    n = len(mu)
    pending = np.flatnonzero(mu > 0.0)
    count = 2 * k
    entries = []
    while len(pending):
        count = min(count, n - 1)
        nearest = search.nearest(count, pending)
        probabilities = project_rows_onto_simplex(-nearest.squared_distances / (2.0 * mu[pending, None]))
        done = (probabilities[:, -1] == 0.0) | (count == n - 1)
        row, column = np.nonzero(probabilities * done[:, None])
        entries.append((probabilities[row, column], pending[row], nearest.index[row, column]))
        pending = pending[~done]
        count *= 2
    graph = sp.csr_array((n, n))
    if entries:
        values, rows, columns = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        graph = sp.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    if np.all(mu > 0.0):
        return graph
    nearest = search.nearest(min(k, n - 1), with_ties=True)
    return sp.csr_array(graph + _shared_by_nearest(nearest, mu <= 0.0))


def _as_graph(probabilities: Float, index: Indices) -> sp.csr_array:
    n, k = probabilities.shape
    indptr = np.arange(0, n * k + 1, k)
    graph = sp.csr_array((probabilities.ravel(), index[:, :k].ravel(), indptr), shape=(n, n))
    graph.sort_indices()
    graph.eliminate_zeros()
    return graph
