"""FSASL's P: neighbour probabilities learned from distances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ufselect._backend.columns import Columns, Float, Indices
from ufselect.graphs.approximate import approximate_others
from ufselect.graphs.neighbors import Nearest, NeighborSearch
from ufselect.solvers.simplex import project_rows_onto_simplex


class Neighborhoods(NamedTuple):
    """P, the spreads μᵢ of its rows, and the share of the true neighbours that were found."""

    P: sp.csr_array
    spread: Float
    recall: float = 1.0


def adaptive_neighbors(
    Z: Columns | Float,
    n_neighbors: int,
    *,
    spread: str | Float = "row",
    approximate: bool = False,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> Neighborhoods:
    """Minimise Σⱼ ½‖zᵢ−zⱼ‖²Pᵢⱼ + (μᵢ/2)Pᵢⱼ² over the simplex, exactly, for every sample i.

    Row i is the projection of −dᵢ/(2μᵢ) onto the simplex, where dᵢ are the squared distances to the others. Only the
    nearest neighbours can have nonzero probabilities; more of them are fetched as long as the farthest one still has
    a positive probability.

    Parameters
    ----------
    Z : Columns or ndarray of shape (n, c)
        Samples by rows.
    n_neighbors : int
        k, the number of neighbours.
    spread : {"row", "mean"} or ndarray of shape (n,)
        "row": μᵢ = ½(k·dᵢ₍k+1₎ − Σ_{j≤k} dᵢ₍j₎), which gives every sample k neighbours; "mean": the mean of these for
        all rows, as in the paper; or the values themselves.
    approximate : bool, default=False
        Whether approximate neighbours will do; with spread="row" only.
    n_jobs : int, optional
        Number of threads.
    random_state : int, RandomState instance or None
        Start of an approximate search.

    Returns
    -------
    Neighborhoods
        P of shape (n, n), with rows on the simplex and a zero diagonal, and μ of shape (n,).
    """
    count = min(n_neighbors + 1, Z.shape[0] - 1)
    if approximate:
        found = approximate_others(Z, count, n_jobs=n_jobs, random_state=random_state)
        by_row = _spread_of_k_neighbors(found.nearest.squared_distances, n_neighbors)
        return Neighborhoods(neighbor_probabilities(found.nearest, n_neighbors), by_row, found.recall)
    search = NeighborSearch(Z, n_jobs=n_jobs)
    nearest = search.nearest(count)
    if isinstance(spread, str):
        by_row = _spread_of_k_neighbors(nearest.squared_distances, n_neighbors)
        if spread == "row":
            return Neighborhoods(neighbor_probabilities(nearest, n_neighbors), by_row)
        mu = np.full_like(by_row, by_row.mean())
    else:
        mu = spread
    return Neighborhoods(_projected_graph(search, mu, 2 * n_neighbors), mu)


def neighbor_probabilities(nearest: Nearest, k: int) -> sp.csr_array:
    """Return P in closed form for k neighbours per sample, given the k + 1 nearest."""
    return _as_graph(_closed_form(nearest.squared_distances, k), nearest.index)


def _spread_of_k_neighbors(distances: Float, k: int) -> Float:
    """μᵢ = ½(k·dᵢ₍k+1₎ − Σ_{j≤k} dᵢ₍j₎); the k-th distance replaces the (k+1)-th if there is none."""
    return 0.5 * (distances[:, :k].shape[1] * distances[:, -1] - distances[:, :k].sum(axis=1))


def _closed_form(distances: Float, k: int) -> Float:
    """Pᵢⱼ = (dᵢ₍k+1₎ − dᵢⱼ)₊ / (k·dᵢ₍k+1₎ − Σ_{j≤k} dᵢ₍j₎), or equal probabilities if all distances are equal."""
    nearness = distances[:, -1:] - distances[:, :k]
    total = nearness.sum(axis=1, keepdims=True)
    even = np.full_like(nearness, 1.0 / nearness.shape[1])
    return np.divide(nearness, total, out=even, where=total > 0.0)


def _projected_graph(search: NeighborSearch, mu: Float, count: int) -> sp.csr_array:
    """Project row by row, doubling the number of neighbours of the rows that need more."""
    n = len(mu)
    pending = np.arange(n)
    entries = []
    while len(pending):
        count = min(count, n - 1)
        nearest = search.nearest(count, pending)
        probabilities = _probabilities(nearest.squared_distances, mu[pending])
        done = (probabilities[:, -1] == 0.0) | (count == n - 1)
        row, column = np.nonzero(probabilities * done[:, None])
        entries.append((probabilities[row, column], pending[row], nearest.index[row, column]))
        pending = pending[~done]
        count *= 2
    values, rows, columns = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return sp.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()


def _probabilities(distances: Float, mu: Float) -> Float:
    """Project −d/(2μ) onto the simplex; if μ = 0, the nearest neighbours share all of the probability."""
    nearest = distances == distances[:, :1]
    limit = nearest / nearest.sum(axis=1, keepdims=True)
    positive = mu > 0.0
    limit[positive] = project_rows_onto_simplex(-distances[positive] / (2.0 * mu[positive, None]))
    return limit


def _as_graph(probabilities: Float, index: Indices) -> sp.csr_array:
    n, k = probabilities.shape
    indptr = np.arange(0, n * k + 1, k)
    graph = sp.csr_array((probabilities.ravel(), index[:, :k].ravel(), indptr), shape=(n, n))
    graph.sort_indices()
    graph.eliminate_zeros()
    return graph
