"""Approximate nearest neighbours of very many samples, with a measured recall."""

from __future__ import annotations

import importlib.util
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from ufselect._utils.policy import LARGEST_EXACT_SEARCH, SAME_DISTANCE
from ufselect._utils.threads import number_of_threads
from ufselect._utils.types import Float
from ufselect._utils.warnings import warn_user
from ufselect.columns.arrays import is_tensor
from ufselect.columns.dense import Columns
from ufselect.graphs.neighbors import Neighbors, NeighborSearch, centered_points, without_self

_SPARE = 6  # neighbours per sample beyond those asked for, which improve the recall
_SAMPLE = 1000  # samples of which the recall is measured


class FoundNeighbors(NamedTuple):
    """The neighbours that were found, and the share of the true ones among them."""

    nearest: Neighbors
    recall: float


def searches_approximately(neighbors: str, points: Any) -> bool:
    """Return whether to search for approximate neighbours: as told or, if that is "auto", if there are many points.

    The search is exact, and fast, for tensors, and exact for sparse columns.
    """
    n = points.shape[0]
    is_sparse = isinstance(points, Columns) and sp.issparse(points.values)
    if neighbors == "approximate" and is_tensor(points):
        raise ValueError('neighbors="approximate" does not work on a device, where the search is exact and fast.')
    if neighbors == "approximate" and is_sparse:
        raise ValueError('neighbors="approximate" needs a dense X or more features than graph_components.')
    if neighbors == "exact" or is_sparse or is_tensor(points):
        return False
    if neighbors == "auto" and n <= LARGEST_EXACT_SEARCH:
        return False
    if importlib.util.find_spec("pynndescent") is not None:
        return True
    remedy = "run `pip install pynndescent`"
    if neighbors == "approximate":
        raise ImportError(f'neighbors="approximate" needs pynndescent: {remedy}.')
    warn_user(f"Exact neighbours of {n:,} samples take a long time. For approximate ones, {remedy}.")
    return False


def approximate_others(
    X: Columns | Float, count: int, *, n_jobs: int | None = None, random_state: Any = 0
) -> FoundNeighbors:
    """Return about the ``count`` nearest other samples of every dense sample, by nearest-neighbour descent.

    Distances are exact; the recall is that of 1000 samples.
    """
    from pynndescent import NNDescent

    rng = check_random_state(random_state)
    points = centered_points(X)
    n = len(points)
    threads = effective_n_jobs(number_of_threads(n_jobs))
    descent = NNDescent(
        points.astype(np.float32, copy=False),
        n_neighbors=min(count + 1 + _SPARE, n),
        random_state=rng.randint(2**31 - 1),
        n_jobs=min(threads, numba.get_num_threads()),
    )
    others = without_self(descent.neighbor_graph[0], np.arange(n))
    vars(descent).clear()  # it refers to itself, so that its copy of the points would stay until garbage is collected
    search = NeighborSearch(Columns(points, centered=True), n_jobs=n_jobs)
    missed = np.flatnonzero((others < 0).any(axis=1))  # whose neighbours the descent has not all found
    if len(missed):
        others[missed] = search.nearest(others.shape[1], missed).index
    found = search.measured_in_order(np.arange(n), others).first(count)
    rows = np.sort(rng.choice(n, size=min(_SAMPLE, n), replace=False))
    farthest = search.nearest(count, rows).squared_distances[:, -1:]
    recall = np.mean(found.squared_distances[rows] <= farthest * (1.0 + SAME_DISTANCE))
    return FoundNeighbors(found, float(recall))
