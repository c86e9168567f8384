"""What selections are compared with: rankings at random, and all features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ufselect._utils.types import Float


class RandomRanking(BaseEstimator):  # type: ignore[misc]
    """Rank the features at random, as a baseline.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        Seed of the ranking.
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Float, y: Any = None) -> Self:
        """Draw a ranking of the columns of X."""
        self.ranking_ = check_random_state(self.random_state).permutation(X.shape[1]) + 1
        return self


class AllFeatures(BaseEstimator):  # type: ignore[misc]
    """Keep the features in their order, for the table row without selection."""

    def fit(self, X: Float, y: Any = None) -> Self:
        """Number the columns of X."""
        self.ranking_ = np.arange(X.shape[1]) + 1
        return self
