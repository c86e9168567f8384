"""Synthetic data with known informative columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state


class PlantedClusters(NamedTuple):
    """Data, the cluster of each sample, and which columns distinguish the clusters."""

    X: npt.NDArray[np.float64]
    clusters: npt.NDArray[np.intp]
    informative: npt.NDArray[np.bool_]


def make_planted_clusters(
    n_samples: int = 400,
    n_clusters: int = 6,
    n_informative: int = 90,
    n_noise: int = 1000,
    *,
    separation: float = 3.0,
    noise_scale: float = 1.0,
    random_state: Any = None,
) -> PlantedClusters:
    """Generate clusters that are visible in some columns and not in the others.

    An informative column is the mean of the cluster, drawn from N(0, separation²), plus standard normal noise; the
    other columns are noise. The order of the columns is random.

    Parameters
    ----------
    n_samples, n_clusters, n_informative, n_noise : int
        Sizes; those of the clusters differ by one at most.
    separation : float
        Standard deviation of the cluster means.
    noise_scale : float
        Standard deviation of the noise columns.
    random_state : int, RandomState instance or None
        Source of randomness.

    Returns
    -------
    PlantedClusters

    Examples
    --------
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, clusters, informative = make_planted_clusters(n_samples=60, n_noise=10, random_state=0)
    >>> X.shape, int(informative.sum())
    ((60, 100), 90)
    """
    rng = check_random_state(random_state)
    clusters = rng.permutation(np.arange(n_samples) % n_clusters)
    means = rng.normal(scale=separation, size=(n_clusters, n_informative))
    useful = means[clusters] + rng.standard_normal((n_samples, n_informative))
    noise = rng.normal(scale=noise_scale, size=(n_samples, n_noise))
    order = rng.permutation(n_informative + n_noise)
    X = np.ascontiguousarray(np.hstack([useful, noise])[:, order])
    return PlantedClusters(X, clusters, order < n_informative)
