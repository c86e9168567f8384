"""Rankings to compare with: at random, all features, and methods as the programs behind the tables have them."""

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
from ufselect.selectors.fsasl import FSASL, FeatureWeights
from ufselect.selectors.laplacian_score import LaplacianScore
from ufselect.solvers.reweighted import ReweightedRidge, inverse_weights

_REWEIGHTED_STEPS = 10


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
            1, n_neighbors=self.n_neighbors, weights="heat", width=t / unit, scale=None, center=False
        ).fit(X)
        constant = np.ptp(X, axis=0) == 0.0
        self.scores_ = np.where(constant, 1.0, 2.0 - selector.laplacian_scores_)
        return self


class ReweightedFSASL(FSASL):
    """FSASL with W as the authors' program finds it: ten reweighted steps from a ridge start, and γ as it is.

    Ten steps end far from the solution where γ is small: no row is zero, and all features are ranked. ``row_penalty``
    is γ itself, for the raw columns, not a share of the largest. Otherwise as FSASL; for its figures, not for use.
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
        dimension: int,
        last: FeatureWeights | None = None,
    ) -> FeatureWeights:
        Y = self._embedding(L, dimension, last)
        h = np.ones(X.shape[1])
        for _ in range(_REWEIGHTED_STEPS):
            W = ReweightedRidge(X, h, self.row_penalty, gram=gram).coef(Y)
            h = inverse_weights(W)
        return FeatureWeights(W, Y, self.row_penalty)
