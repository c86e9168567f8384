"""How a selection is judged: k-means on the selected columns, from the same starting points for all selections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices
from ufselect.metrics import (
    agreement_of_runs,
    nearest_neighbor_accuracy,
    nearest_neighbors,
    neighborhood_overlap,
    redundancy,
)
from ufselect.solvers.kmeans import kmeans_labels

N_RUNS = 20
MAX_ITER = 100
SEED = 5489
N_NEIGHBORS = 5


@lru_cache(maxsize=64)
def kmeans_starts(n_samples: int, n_clusters: int, n_runs: int = N_RUNS, seed: int = SEED) -> Indices:
    """Return the indices (n_runs, n_clusters) of the samples at which the centres start.

    All are drawn from one MT19937 stream, as in the published experiments, so every selection gets the same starts.

    Examples
    --------
    >>> from ufselect.benchmark.protocol import kmeans_starts
    >>> kmeans_starts(213, 10).shape
    (20, 10)
    """
    stream = np.random.RandomState(seed)
    starts = np.array([_distinct_samples(stream, n_samples, n_clusters) for _ in range(n_runs)])
    starts.flags.writeable = False
    return starts


def _distinct_samples(stream: np.random.RandomState, n: int, c: int) -> Indices:
    """Draw c of n without replacement: by sorting if c is more than a quarter of n, by rejection otherwise."""
    if 4 * c > n:
        return np.argsort(stream.random_sample(n), kind="stable")[:c]
    marked = np.zeros(n, dtype=bool)
    while (missing := c - np.count_nonzero(marked)) > 0:
        marked[np.floor(n * stream.random_sample(missing)).astype(np.intp)] = True
    return np.flatnonzero(marked)[np.argsort(stream.random_sample(c), kind="stable")]


def clustering_agreement(X: Float, classes: npt.NDArray[np.int64], n_runs: int = N_RUNS) -> dict[str, float]:
    """Return the mean ACC and NMI of k-means on X over several runs, with one cluster per class.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The selected columns, unscaled.
    classes : ndarray of shape (n,)
        0 … c − 1.
    n_runs : int
        Number of runs.

    Returns
    -------
    dict
        ``acc``, ``nmi`` (over the geometric mean of the entropies), ``nmi_arithmetic``, ``nmi_max``.
    """
    starts = kmeans_starts(len(X), len(np.unique(classes)), n_runs)
    runs = kmeans_labels(X, starts, max_iter=MAX_ITER)
    return {name: float(np.mean(values)) for name, values in agreement_of_runs(classes, runs).items()}


def measures_of(
    X: Float,
    classes: npt.NDArray[np.int64],
    measures: Sequence[str],
    n_runs: int,
    neighbors_before: Callable[[], Indices],
) -> dict[str, float]:
    """Return the given measures of a selection.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The selected columns, unscaled.
    classes : ndarray of shape (n,)
        0 … c − 1.
    measures : sequence of str
        Those of :func:`clustering_agreement`, "redundancy", "preservation", "nearest_neighbor".
    n_runs : int
        Number of k-means runs.
    neighbors_before : callable
        Returns the ``N_NEIGHBORS`` nearest neighbours of every sample in all features. Called for "preservation" only.

    Returns
    -------
    dict
        The measures by name, in the given order.
    """
    of_clusters = set(measures) - {"redundancy", "preservation", "nearest_neighbor"}
    found = clustering_agreement(X, classes, n_runs) if of_clusters else {}
    if "redundancy" in measures:
        found["redundancy"] = redundancy(X)
    if "preservation" in measures:
        found["preservation"] = neighborhood_overlap(neighbors_before(), nearest_neighbors(X, N_NEIGHBORS))
    if "nearest_neighbor" in measures:
        found["nearest_neighbor"] = nearest_neighbor_accuracy(X, classes)
    return {name: found[name] for name in measures}
