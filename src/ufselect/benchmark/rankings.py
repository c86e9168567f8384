"""Rankings to compare with: at random, all features, and the Laplacian score as its paper's tables have it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from ufselect._backend.columns import Float
from ufselect.selectors.laplacian_score import LaplacianScore


class RandomRanking(BaseEstimator):  # type: ignore[misc]
    """Rank the features at random: what a selection is worth that knows nothing.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        Source of randomness.
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Float, y: Any = None) -> Self:
        """Draw a ranking of the columns of X."""
        self.ranking_ = check_random_state(self.random_state).permutation(X.shape[1]) + 1
        return self


class AllFeatures(BaseEstimator):  # type: ignore[misc]
    """Leave the features in their order: for the row without selection."""

    def fit(self, X: Float, y: Any = None) -> Self:
        """Number the columns of X."""
        self.ranking_ = np.arange(X.shape[1]) + 1
        return self


class PublishedLaplacianScore(BaseEstimator):  # type: ignore[misc]
    """The Laplacian score with the graph of the paper's own tables.

    There the heat kernel exp(−‖xᵢ − xⱼ‖²/2t²) has t = 2ᵖs² with s the median distance of all pairs, each
    sample's to itself among them: the square of a distance where a distance is meant, so that nearly
    all weights are 1. A feature that does not vary scores as one that varies as much between neighbours as at all.

    Parameters
    ----------
    exponent : float
        p.
    n_neighbors : int
        k.
    """

    def __init__(self, exponent: float = 0.0, n_neighbors: int = 5) -> None:
        self.exponent = exponent
        self.n_neighbors = n_neighbors

    def fit(self, X: Float, y: Any = None) -> Self:
        """Score the columns of X; larger is better."""
        distances = pairwise_distances(X)
        t = 2.0**self.exponent * np.median(distances) ** 2
        # LaplacianScore takes its width in units of the root mean square distance between two samples.
        unit = np.sqrt(np.mean(distances**2))
        selector = LaplacianScore(
            1, n_neighbors=self.n_neighbors, weights="heat", width=t / unit, scale="none", center=False
        ).fit(X)
        constant = np.ptp(X, axis=0) == 0.0
        self.scores_ = np.where(constant, 1.0, 2.0 - selector.laplacian_scores_)
        return self
