"""How one selection is judged: twenty k-means runs on the selected columns, from the same starts for all."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ufselect._backend.columns import Float, Indices
from ufselect.metrics import (
    agreement_of_runs,
)
from ufselect.solvers.kmeans import kmeans_labels

N_RUNS = 20
MAX_ITER = 100
SEED = 5489
N_NEIGHBORS = 5


@lru_cache(maxsize=64)
def kmeans_starts(n_samples: int, n_clusters: int, n_runs: int = N_RUNS, seed: int = SEED) -> Indices:
    """The samples at which the centres start, for every run: those of the published experiments.

    All draws come from one stream of MT19937, so that every selection meets the same starts.

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
    """Draw c of n without repetition: by sorting if c is more than a quarter, else by drawing until there are c."""
    if 4 * c > n:
        return np.argsort(stream.random_sample(n), kind="stable")[:c]
    marked = np.zeros(n, dtype=bool)
    while (missing := c - np.count_nonzero(marked)) > 0:
        marked[np.floor(n * stream.random_sample(missing)).astype(np.intp)] = True
    return np.flatnonzero(marked)[np.argsort(stream.random_sample(c), kind="stable")]


def clustering_agreement(X: Float, classes: npt.NDArray[np.int64], n_runs: int = N_RUNS) -> dict[str, float]:
    """ACC and NMI of k-means on the columns of X with as many clusters as classes, means over the runs.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The selected columns, as they are.
    classes : ndarray of shape (n,)
        0 … c − 1.
    n_runs : int
        The first so many of the starts.

    Returns
    -------
    dict
        ``acc``, ``nmi`` (over the geometric mean of the entropies), ``nmi_arithmetic``, ``nmi_max``.
    """
    starts = kmeans_starts(len(X), len(np.unique(classes)), n_runs)
    runs = kmeans_labels(X, starts, max_iter=MAX_ITER)
    return {name: float(np.mean(values)) for name, values in agreement_of_runs(classes, runs).items()}
