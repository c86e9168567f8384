"""Nearest neighbours, exactly and with ties settled, and the graphs that join them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from ufselect._backend.blocks import affordable_rows, map_row_blocks
from ufselect._backend.columns import Columns, Float, Indices
from ufselect.solvers._kernels import squared_distances_between

_SPARE_CANDIDATES = 4
_FEW_SAMPLES = 1000
_ROUNDING = 1e-10
_FAINTEST_WEIGHT = 1e-10


@dataclass(frozen=True)
class Nearest:
    """Squared distances from every sample to its nearest others, ascending by rows, and who they are."""

    squared_distances: Float
    index: Indices


def nearest_others(X: Columns | Float, count: int, *, n_jobs: int | None = None) -> Nearest:
    """The ``count`` nearest other samples of every sample.

    Of samples at the same distance, up to rounding, the one that comes first counts as nearer. The
    search works with rounded distances, so some candidates more than needed are fetched, their
    distances taken anew from differences, and more fetched for as long as a tie leaves it open who is in.

    Parameters
    ----------
    X : Columns or ndarray of shape (n, d)
    count : int
        Fewer than n.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Nearest
        Two arrays of shape (n, count).
    """
    # Distances do not see the means, so a sparse matrix need not be centred for them.
    points = X.by_row if isinstance(X, Columns) else X
    if not sp.issparse(points) and not (isinstance(X, Columns) and X.centered):
        # The search multiplies out the squares, which cancel beside a large mean.
        points = points - points.mean(axis=0)
    n = points.shape[0]
    candidates_of = _search_among(points, n_jobs)
    distances, index = np.empty((n, count)), np.empty((n, count), dtype=np.intp)
    pending, fetched = np.arange(n), min(count + _SPARE_CANDIDATES, n - 1)
    while len(pending):
        open_ = []
        # Rows with many ties need many candidates: some rows at a time.
        for block in gen_batches(len(pending), affordable_rows(64 * fetched)):
            rows = pending[block]
            candidates = candidates_of(rows, fetched)
            exact = _squared_distances(points, rows, candidates, n_jobs)
            exact, candidates = _in_order(exact, candidates)
            tie = exact[:, -1] <= exact[:, count - 1] * (1.0 + _ROUNDING)
            settled = ~tie | (fetched == n - 1)
            distances[rows[settled]] = exact[settled, :count]
            index[rows[settled]] = candidates[settled, :count]
            open_.append(rows[~settled])
        pending, fetched = np.concatenate(open_), min(4 * fetched, n - 1)
    return Nearest(distances, index)


def _search_among(points: Any, n_jobs: int | None) -> Callable[[Indices, int], Indices]:
    """(rows, count) ↦ the nearest others of these rows, up to rounding and in any order."""
    n = points.shape[0]
    if n <= _FEW_SAMPLES and not sp.issparse(points) and points.dtype == np.float64:
        # Symmetric, so half the work of a search.
        inner = points @ points.T
        squares = inner.diagonal()
        distances = squares[:, None] + squares - 2.0 * inner
        np.fill_diagonal(distances, np.inf)
        return lambda rows, count: np.argpartition(distances[rows], count - 1, axis=1)[:, :count]
    search = NearestNeighbors(n_jobs=n_jobs).fit(points)

    def candidates(rows: Indices, count: int) -> Indices:
        if len(rows) == n:
            return search.kneighbors(n_neighbors=count, return_distance=False).astype(np.intp)
        found = search.kneighbors(points[rows], n_neighbors=count + 1, return_distance=False)
        # A sample is left out by its index and not by its place; duplicates may push it off its own list.
        own = found == rows[:, None]
        own[~own.any(axis=1), -1] = True
        return found[~own].reshape(len(rows), count).astype(np.intp)

    return candidates


def _squared_distances(points: Any, rows: Indices, candidates: Indices, n_jobs: int | None) -> Float:
    """‖xᵢ−xⱼ‖² from differences, which do not cancel."""

    def of_block(block: slice) -> Float:
        here, there = rows[block], candidates[block]
        if not sp.issparse(points):
            return squared_distances_between(points, here, there)
        differences = points[np.repeat(here, there.shape[1])] - points[there.ravel()]
        return np.asarray(differences.power(2).sum(axis=1, dtype=np.float64)).reshape(there.shape)

    row_bytes = 3 * candidates.shape[1] * points.shape[1] * points.dtype.itemsize
    return np.concatenate(map_row_blocks(of_block, len(rows), row_bytes, n_jobs))


def _in_order(distances: Float, candidates: Indices) -> tuple[Float, Indices]:
    """Sort every row by distance, and by index where distances differ by rounding only."""
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    candidates = np.take_along_axis(candidates, order, axis=1)
    farther = distances[:, 1:] > distances[:, :-1] * (1.0 + _ROUNDING)
    rank = np.concatenate([np.zeros((len(distances), 1), dtype=np.intp), np.cumsum(farther, axis=1)], axis=1)
    order = np.lexsort((candidates, rank), axis=1)
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(candidates, order, axis=1)


def neighbor_graph(X: Columns, nearest: Nearest, *, weights: str = "heat", width: float = 1.0) -> sp.csr_array:
    """Join samples of which one is among the nearest of the other.

    Parameters
    ----------
    X : Columns of shape (n, d)
    nearest : Nearest
        Those to be joined.
    weights : {"heat", "binary", "cosine"}
        exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine of the angle between the two, as far as it is positive.
        No edge weighs less than 1e-10, so that no sample drops out.
    width : float
        t of "heat", as a multiple of the root mean square distance between samples.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, with a zero diagonal.
    """
    n, k = nearest.index.shape
    here, there = np.repeat(np.arange(n), k), nearest.index.ravel()
    if weights == "heat":
        values = np.exp(-nearest.squared_distances.ravel() / (2.0 * squared_width(X, width)))
    elif weights == "binary":
        values = np.ones(n * k)
    else:
        values = _cosines(X, nearest.index).ravel()
    directed = sp.csr_array((np.maximum(values, _FAINTEST_WEIGHT), (here, there)), shape=(n, n))
    return sp.csr_array(directed.maximum(directed.T))


def squared_width(X: Columns, width: float) -> float:
    """t² for a t that is ``width`` times the root mean square distance between samples."""
    return width**2 * X.mean_squared_distance()


def _cosines(X: Columns, index: Indices) -> Float:
    def of_block(block: slice) -> Float:
        here = X.rows(block)
        there = X.rows(index[block].ravel()).reshape(*index[block].shape, -1)
        lengths = np.linalg.norm(here, axis=1)[:, None] * np.linalg.norm(there, axis=2)
        inner = np.einsum("id,ikd->ik", here, there)
        return np.divide(inner, lengths, out=np.zeros_like(inner), where=lengths > 0.0)

    row_bytes = 8 * X.shape[1] * (index.shape[1] + 1)
    return np.concatenate(map_row_blocks(of_block, X.shape[0], row_bytes)).astype(np.float64)
