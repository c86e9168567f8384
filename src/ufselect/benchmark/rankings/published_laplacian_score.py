"""The Laplacian score of the paper's own tables."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances

from ufselect._utils.types import Float
from ufselect.selectors.laplacian_score import LaplacianScore


class PublishedLaplacianScore(BaseEstimator):  # type: ignore[misc]
    """The Laplacian score with the graph of the paper's own tables.

    Its heat kernel exp(−‖xᵢ − xⱼ‖²/2t²) has t = 2ᵖs², with s the median of all distances, including those of samples to
    themselves. This t is a squared distance instead of a distance, so nearly all weights are 1. A constant feature
    scores like one that varies as much between neighbours as overall.

    Parameters
    ----------
    exponent : float, default=0.0
        p.
    n_neighbors : int, default=5
        k.
    """

    def __init__(self, exponent: float = 0.0, n_neighbors: int = 5) -> None:
        self.exponent = exponent
        self.n_neighbors = n_neighbors

    def fit(self, X: Float, y: Any = None) -> Self:
        """Score the columns of X; larger is better."""
        distances = pairwise_distances(X)
        t = 2.0**self.exponent * np.median(distances) ** 2
        # LaplacianScore expects its width as a multiple of the root mean square distance between two samples.
        unit = np.sqrt(np.mean(distances**2))
        selector = LaplacianScore(
            1, n_neighbors=self.n_neighbors, weights="heat", width=t / unit, scale=None, center=False
        ).fit(X)
        constant = np.ptp(X, axis=0) == 0.0
        self.scores_ = np.where(constant, 1.0, 2.0 - selector.laplacian_scores_)
        return self
