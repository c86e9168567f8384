"""Rankings for comparison: random ones, all features, and methods as in the programs behind the published tables."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ufselect._backend.columns import Columns, Float
from ufselect.graphs.laplacian import StructureLaplacian
from ufselect.selectors.fsasl import FSASL
from ufselect.selectors.laplacian_score import LaplacianScore
from ufselect.solvers.feature_weights import FeatureWeights
from ufselect.solvers.reweighted import ReweightedRidge, inverse_weights

_REWEIGHTED_STEPS = 10


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


class ReweightedFSASL(FSASL):
    """FSASL with W from ten reweighted steps that start at a ridge solution, as in the authors' program.

    If γ is small, ten steps end far from the solution: no row is zero, and all features are ranked. ``row_penalty`` is
    γ itself, for the raw columns, not a share of the largest. All else is as in FSASL. Use it to reproduce the
    published figures only.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FSASL._parameter_constraints,
        "row_penalty": [Interval(Real, 0, None, closed="neither")],
    }

    def _fit_weights(
        self,
        X: Columns,
        gram: Float | None,
        L: StructureLaplacian,
        n_clusters: int | None,
        last: FeatureWeights | None = None,
    ) -> FeatureWeights:
        Y = self._target(L, n_clusters, last)
        h = np.ones(X.shape[1])
        for _ in range(_REWEIGHTED_STEPS):
            W = ReweightedRidge(X, h, self.row_penalty, gram=gram).coef(Y)
            h = inverse_weights(W)
        return FeatureWeights(W, Y, X.transposed_matmul(Y), self.row_penalty, self.row_penalty)
