"""How a selection is judged: k-means on the selected columns, from the same starting points for all selections."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices
from ufselect.metrics import (
    clustering_agreement,
    nearest_neighbor_accuracy,
    nearest_neighbors,
    neighborhood_overlap,
    redundancy,
)

N_NEIGHBORS = 5


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
        Those of :func:`~ufselect.metrics.clustering_agreement`, "redundancy", "preservation", "nearest_neighbor".
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
