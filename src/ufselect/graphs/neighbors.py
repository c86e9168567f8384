"""Exact nearest neighbours with well-defined ties, and graphs of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from ufselect._utils.compiling import compiled
from ufselect._utils.memory import affordable_rows
from ufselect._utils.policy import FAINTEST_SIMILARITY, LARGEST_TIED_GRAPH, ROUNDINGS_OF_POINTS, SAME_DISTANCE
from ufselect._utils.threads import map_row_blocks, number_of_threads, one_thread, threads_for
from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns
from ufselect.columns.moments import powers_of_two
from ufselect.graphs.equal_samples import EqualSamples, equal_samples, nearest_of_sets, tied_samples

_SPARE_CANDIDATES = 4
_ROWS_TO_SORT = 2**14
_NEARLY_CENTERED = 1e-6  # largest mean, compared to the largest value, that costs no precision worth a copy
_FEW_COLUMNS = 64  # a sparse array of so few is made dense
_MOST_IN_BLOCKS = 64  # candidates, which are kept in order by insertion
_TILE = 1024
_EPSILON, _TINY = float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny)


def usual_neighbors(n: int) -> int:
    """The number of neighbours for n samples: n/200, from 5 to 15, but at most n/8 and at least 3.

    Few samples have small groups, which more neighbours would join; many samples have noise, which more neighbours
    average out.
    """
    return min(max(min(max(round(n / 200), 5), 15, n // 8), 3), n - 2)


@dataclass(frozen=True)
class Neighbors:
    """Squared distances from samples to their nearest others, in ascending order by rows, and the indices of these.

    Distances that differ only by rounding are equal. ``tied`` has further pairs of a sample and another that is as near
    as its nearest one, if the search was asked for them.
    """

    squared_distances: Float
    index: Indices
    tied: tuple[Indices, Indices] | None = None

    def first(self, count: int) -> Neighbors:
        """Return the ``count`` nearest of these."""
        return Neighbors(self.squared_distances[:, :count], self.index[:, :count])


def nearest_others(X: Columns | Any, count: int, *, with_ties: bool = False, n_jobs: int | None = None) -> Neighbors:
    """Return the ``count`` < n nearest other samples of every sample; see :class:`NeighborSearch`."""
    return NeighborSearch(X, n_jobs=n_jobs).nearest(count, with_ties=with_ties)


class NeighborSearch:
    """Search for exact nearest neighbours that is not affected by the distance of the samples from the origin.

    Of samples at the same distance, up to rounding, the one with the lower index counts as nearer. Fast searches
    expand ‖xᵢ−xⱼ‖², which cancels for samples far from the origin. Here they only provide candidates, a few more than
    needed. Distances are computed again from differences, and more candidates are fetched as long as ties or rounding
    leave it open which samples are the nearest.
    """

    def __init__(self, X: Columns | Any, *, n_jobs: int | None = None) -> None:
        X = X.for_distances() if isinstance(X, Columns) else X
        if X.shape[1] <= _FEW_COLUMNS and sp.issparse(X.by_row if isinstance(X, Columns) else X):
            X = X.by_row.toarray() if isinstance(X, Columns) else X.toarray()
        self.points = X.by_row if isinstance(X, Columns) else sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        self.n_jobs = n_jobs
        self._near_origin = centered_points(X)
        self._blocked = None if sp.issparse(self.points) else BlockedSearch(self._near_origin, n_jobs)
        self._lengths = np.sqrt(row_norms(self._near_origin, squared=True).astype(np.float64))

    def nearest(self, count: int, rows: Indices | None = None, *, with_ties: bool = False) -> Neighbors:
        """Return the ``count`` nearest others of the samples with the given indices, by default of all.

        Further samples as near as the nearest one are left out if they are more than LARGEST_TIED_GRAPH / n.
        """
        n = self.points.shape[0]
        rows = np.arange(n) if rows is None else rows
        if self._equal is not None:
            return self._nearest_of_equal(self._equal, count, rows, LARGEST_TIED_GRAPH // n if with_ties else None)
        distances, index = np.empty((len(rows), count)), np.empty((len(rows), count), dtype=np.intp)
        ties = []
        pending, fetched = np.arange(len(rows)), min(count + _SPARE_CANDIDATES, n - 1)
        while len(pending):
            still_open = []
            # Samples with many ties need many candidates, so only some samples at a time.
            for block in gen_batches(len(pending), affordable_rows(64 * fetched)):
                part = pending[block]
                candidates = self._search(fetched).candidates(rows[part], fetched)
                found = self.measured_in_order(rows[part], candidates)
                certain = self._are_certain(rows[part], found.squared_distances, count)
                distances[part[certain]] = found.squared_distances[certain, :count]
                index[part[certain]] = found.index[certain, :count]
                if with_ties:
                    ties.append(_tied_beyond(found, part, certain, count, LARGEST_TIED_GRAPH // n))
                still_open.append(part[~certain])
            pending, fetched = np.concatenate(still_open), min(4 * fetched, n - 1)
        if not with_ties:
            return Neighbors(distances, index)
        here, there = (np.concatenate(parts) for parts in zip(*ties, strict=True))
        return Neighbors(distances, index, (here, there))

    def _nearest_of_equal(self, equal: EqualSamples, count: int, rows: Indices, most_tied: int | None) -> Neighbors:
        """Search the nearest others of each different sample only, and expand them."""
        n_different = len(equal.starts) - 1
        sets = Neighbors(np.empty((1, 0)), np.empty((1, 0), dtype=np.intp), (rows[:0], rows[:0]))
        if n_different > 1:
            different = NeighborSearch(self.points[equal.firsts], n_jobs=self.n_jobs)
            sets = different.nearest(min(count, n_different - 1), with_ties=most_tied is not None)
        distances, index = nearest_of_sets(equal, sets.squared_distances, sets.index, count)
        if most_tied is None or sets.tied is None:
            return Neighbors(distances[rows], index[rows])
        here, there = tied_samples(equal, sets.squared_distances, sets.index, sets.tied, count, most_tied)
        return Neighbors(distances, index, (here, there))

    def measured_in_order(self, rows: Indices, candidates: Indices) -> Neighbors:
        """Return the candidates of every row by distance, and by index if distances differ only by rounding."""
        distances = _squared_distances(self.points, rows, candidates, self.n_jobs)
        index = np.empty_like(candidates)
        rounding = ROUNDINGS_OF_POINTS * float(np.finfo(self.points.dtype).eps)
        for block in gen_batches(len(rows), _ROWS_TO_SORT):
            doubt = rounding * self._lengths[rows[block]]
            distances[block], index[block] = _in_order(distances[block], candidates[block], doubt, rounding)
        return Neighbors(distances, index)

    @cached_property
    def _equal(self) -> EqualSamples | None:
        """Sets of equal samples, if there are larger ones than the fast search has candidates."""
        return None if sp.issparse(self.points) else equal_samples(self.points, _MOST_IN_BLOCKS)

    @cached_property
    def _thorough(self) -> _SearchOfSklearn:
        """The search among sparse samples, and for the few that need many candidates."""
        return _SearchOfSklearn(self._near_origin, self.n_jobs)

    def _search(self, count: int) -> _SearchOfSklearn | BlockedSearch:
        return self._thorough if self._blocked is None or count > _MOST_IN_BLOCKS else self._blocked

    def _are_certain(self, rows: Indices, distances: Float, count: int) -> npt.NDArray[np.bool_]:
        """Return whether all of the nearest are certainly among the candidates."""
        if distances.shape[1] == self.points.shape[0] - 1:
            return np.ones(len(rows), dtype=bool)
        farthest = distances[:, count - 1]
        # A sample as near as that is at most ‖xᵢ‖ + √farthest away from the origin, and squared distances have an error
        # of ``rounding`` times (‖xᵢ‖ + ‖xⱼ‖)², plus ``underflow``.
        search = self._search(distances.shape[1])
        doubt = search.underflow + search.rounding * (2.0 * self._lengths[rows] + np.sqrt(farthest)) ** 2
        return np.asarray(distances[:, -1] > farthest * (1.0 + SAME_DISTANCE) + 2.0 * doubt)


def centered_points(X: Columns | Any) -> Any:
    """Return the samples of X by rows, with the same distances and, if X is dense, centred.

    A sparse X is returned as it is stored: ``Columns.prepared`` leaves no large means in it.
    """
    points = X.for_distances().by_row if isinstance(X, Columns) else X
    if sp.issparse(points):
        return sp.csr_array(points)
    points = np.asarray(points)
    if isinstance(X, Columns) and X.centered:
        return points
    mean = points.mean(axis=0, dtype=np.float64)
    if np.abs(mean).max() <= _NEARLY_CENTERED * max(-float(points.min()), float(points.max())):
        return points
    return points - mean.astype(points.dtype)


class _SearchOfSklearn:
    """A tree in few dimensions, and products in double precision otherwise."""

    underflow = 0.0

    def __init__(self, points: Any, n_jobs: int | None) -> None:
        self._points, self._n_jobs = points, n_jobs
        self._neighbors = NearestNeighbors(n_jobs=n_jobs).fit(points)
        in_a_tree = self._neighbors._fit_method == "kd_tree"  # which uses differences
        self.rounding = 0.0 if in_a_tree else points.shape[1] * float(np.finfo(np.float64).eps)

    def candidates(self, rows: Indices, count: int) -> Indices:
        """Return the indices of the ``count`` nearest others of some samples, in any order."""
        # Threads under any joblib backend: every process would get a copy of the points.
        operations = 2.0 * len(rows) * self._points.size
        with threads_for(operations), parallel_config("threading", n_jobs=number_of_threads(self._n_jobs)):
            if len(rows) == self._points.shape[0]:
                return self._neighbors.kneighbors(n_neighbors=count, return_distance=False).astype(np.intp)
            found = self._neighbors.kneighbors(self._points[rows], n_neighbors=count + 1, return_distance=False)
        return without_self(found, rows)


def without_self(index: Any, rows: Indices) -> Indices:
    """Return the neighbours of some samples without these, or without the last one if a sample is not among them.

    A sample is removed by index, not by rank: it may come after its duplicates.
    """
    own = index == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(index[~own].reshape(len(rows), -1), dtype=np.intp)


class BlockedSearch:
    """Search among dense points near the origin, by blocks of products in single precision.

    Products of a block of samples with a tile of the others stay in the cache of the processor until the best of them
    are known, so that all n² of them are never in memory.
    """

    def __init__(self, points: Float, n_jobs: int | None = None) -> None:
        unit = float(powers_of_two(max(-float(points.min()), float(points.max()), np.finfo(np.float64).tiny)))
        self._points = np.empty(points.shape, dtype=np.float32)
        np.divide(points, unit, out=self._points, casting="same_kind")
        self._squares = np.einsum("ij,ij->i", self._points, self._points)
        self._n_jobs = n_jobs
        # Every product of d terms has d roundings, and three come from the points and the sum.
        self.rounding = (points.shape[1] + 3) * _EPSILON
        self.underflow = 4.0 * points.shape[1] * _TINY * unit**2

    def candidates(self, rows: Indices, count: int) -> Indices:
        """Return the indices of the ``count`` nearest others of the samples in ``rows``, up to rounding."""

        def of_block(block: slice) -> Indices:
            here = rows[block]
            queries = self._points[here]
            values = np.full((len(here), count), np.inf, dtype=np.float32)
            index = np.zeros((len(here), count), dtype=np.intp)
            for tile in gen_batches(len(self._points), _TILE):
                products = queries @ self._points[tile].T
                _keep_nearest(products, self._squares[tile], tile.start, here, values, index)
            return index

        # Blocks run in threads of their own; those of the products would compete with them.
        with one_thread():
            return np.concatenate(map_row_blocks(of_block, len(rows), 8 * count + 8 * _TILE, self._n_jobs))


@compiled
def _keep_nearest(products: Any, squares: Any, first: int, own: Any, values: Any, index: Any) -> None:
    """Keep the columns with the smallest ‖yⱼ‖² − 2xᵢᵀyⱼ of every row, in ascending order.

    ``products`` holds xᵢᵀyⱼ for the columns from ``first`` on, ``squares`` holds their ‖yⱼ‖². ``values`` and ``index``
    are the best so far. The column with the number ``own[i]`` is left out of row i.
    """
    width, count = products.shape[1], values.shape[1]
    for i in range(len(products)):
        worst = values[i, count - 1]
        for j in range(width):
            value = squares[j] - np.float32(2.0) * products[i, j]
            if value >= worst or first + j == own[i]:
                continue
            place = count - 1
            while place > 0 and values[i, place - 1] > value:
                values[i, place] = values[i, place - 1]
                index[i, place] = index[i, place - 1]
                place -= 1
            values[i, place] = value
            index[i, place] = first + j
            worst = values[i, count - 1]


def _squared_distances(points: Any, rows: Indices, candidates: Indices, n_jobs: int | None) -> Float:
    """Compute ‖xᵢ−xⱼ‖² from differences, which do not cancel."""

    def of_block(block: slice) -> Float:
        here, there = rows[block], candidates[block]
        if not sp.issparse(points):
            return _squared_distances_between(points, here, there)
        differences = points[np.repeat(here, there.shape[1])] - points[there.ravel()]
        return np.asarray(differences.power(2).sum(axis=1, dtype=np.float64)).reshape(there.shape)

    row_bytes = 3 * candidates.shape[1] * points.shape[1] * points.dtype.itemsize
    return np.concatenate(map_row_blocks(of_block, len(rows), row_bytes, n_jobs))


@compiled
def _squared_distances_between(points: Any, rows: Any, others: Any) -> Any:
    """Compute ‖xᵢ−xⱼ‖² from differences in double precision, for every i in ``rows`` and j in its row of ``others``."""
    distances = np.empty(others.shape)
    for a in range(len(rows)):
        here = points[rows[a]]
        for b in range(others.shape[1]):
            there = points[others[a, b]]
            total = 0.0
            for f in range(points.shape[1]):
                difference = np.float64(here[f]) - np.float64(there[f])
                total += difference * difference
            distances[a, b] = total
    return distances


def _in_order(distances: Float, candidates: Indices, doubt: Float, rounding: float) -> tuple[Float, Indices]:
    """Sort every row by distance, and by index if distances differ only by rounding; these become equal.

    ``doubt`` has the rounding errors ε‖xᵢ‖ of the samples themselves; those of the others are ε‖xⱼ‖ ≤ ε(‖xᵢ‖ + dᵢⱼ).
    """
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    candidates = np.take_along_axis(candidates, order, axis=1)
    lengths = np.sqrt(distances)
    same = (0.5 * SAME_DISTANCE + rounding) * lengths[:, 1:] + 2.0 * doubt[:, None]
    farther = np.diff(lengths, axis=1) > same
    distances[:, 1:][~farther] = 0.0
    distances = np.maximum.accumulate(distances, axis=1)
    rank = np.concatenate([np.zeros((len(distances), 1), dtype=np.intp), np.cumsum(farther, axis=1)], axis=1)
    order = np.lexsort((candidates, rank), axis=1)
    return distances, np.take_along_axis(candidates, order, axis=1)


def _tied_beyond(
    found: Neighbors, part: Indices, certain: npt.NDArray[np.bool_], count: int, most: int
) -> tuple[Indices, Indices]:
    """Return pairs of certain rows and samples as near as their nearest that are not among the first ``count``."""
    tied = found.squared_distances == found.squared_distances[:, :1]
    tied &= (certain & (np.count_nonzero(tied, axis=1) <= most))[:, None]
    row, place = np.nonzero(tied[:, count:])
    return part[row], found.index[row, count + place]


def neighbor_graph(X: Columns, nearest: Neighbors, *, weights: str = "heat", width: float = 1.0) -> sp.csr_array:
    """Connect samples if one is among the nearest of the other; the graph is symmetric with a zero diagonal.

    The weights "heat", "binary" and "cosine" are exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine of the angle between the two
    samples, and at least 1e-10, so that no sample drops out. ``width`` is t, as a multiple of the root mean square
    distance between samples.
    """
    n, k = nearest.index.shape
    here, there = np.repeat(np.arange(n), k), nearest.index.ravel()
    if weights == "heat":
        values = np.exp(-nearest.squared_distances.ravel() / (2.0 * squared_width(X, width)))
    elif weights == "binary":
        values = np.ones(n * k)
    else:
        values = _cosines(X, nearest.index).ravel()
    directed = sp.csr_array((np.maximum(values, FAINTEST_SIMILARITY), (here, there)), shape=(n, n))
    return sp.csr_array(directed.maximum(directed.T))


def squared_width(X: Columns, width: float) -> float:
    """Return t², where t is ``width`` times the root mean square distance between samples."""
    return width**2 * X.for_distances().mean_squared_distance()


def _cosines(X: Columns, index: Indices) -> Float:
    X = X.for_distances()

    def of_block(block: slice) -> Float:
        here = X.rows(block)
        there = X.rows(index[block].ravel()).reshape(*index[block].shape, -1)
        lengths = np.linalg.norm(here, axis=1)[:, None] * np.linalg.norm(there, axis=2)
        inner = np.einsum("id,ikd->ik", here, there)
        return np.divide(inner, lengths, out=np.zeros_like(inner), where=lengths > 0.0)

    row_bytes = 8 * X.shape[1] * (index.shape[1] + 1)
    return np.concatenate(map_row_blocks(of_block, X.shape[0], row_bytes)).astype(np.float64)
