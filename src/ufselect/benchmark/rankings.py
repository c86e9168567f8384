"""Rankings for comparison: random ones, all features, and methods as in the programs behind the published tables."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ufselect._utils.types import Float
from ufselect.base import POSITIVE, Constraints
from ufselect.base.ranking import Ranking, rank_by_score
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import StructureLaplacian
from ufselect.graphs.local_models import assembled, centered_grams, difference_grams, discriminant_blocks, with_self
from ufselect.selectors.fsasl import FSASL
from ufselect.selectors.laplacian_score import LaplacianScore
from ufselect.selectors.udfs import UDFS, DiscriminantProblem, smoothed_norms
from ufselect.solvers.feature_weights import FeatureWeights
from ufselect.solvers.reweighted import ReweightedRidge, inverse_weights

_PROJECTIONS = 20
_REWEIGHTED_STEPS = 10


class RandomRanking(BaseEstimator):  # type: ignore[misc]
    """Rank the features at random, as a baseline."""

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
    scores like one that varies as much between neighbours as overall. ``exponent`` is p.
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


class EqualStartUDFS(UDFS):
    """UDFS by twenty steps from equal weights of all rows, as in the program behind the published tables.

    If there are more features than samples, every W with XW = 0 solves the first eigenproblem. In that program rounding
    errors choose one, here ``random_state`` does, so results can be reproduced. ``row_penalty`` and ``ridge`` are γ and
    λ themselves, and all features are ranked by ‖wⱼ‖, however small. All else is as in UDFS. Use it to reproduce the
    published figures only.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**UDFS._parameter_constraints, "row_penalty": POSITIVE}

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        nearest, n_clusters = self._neighborhood(X)
        index, grams = with_self(nearest.index, difference_grams(X, nearest.index, n_jobs=self.n_jobs))
        M = assembled(index, discriminant_blocks(centered_grams(grams), self.ridge))
        problem, count = DiscriminantProblem.of(X, M), self._dimension(n_clusters)
        W = self._first_projection(problem, count)
        for _ in range(_PROJECTIONS - 1):
            W = problem.projection(0.5 / smoothed_norms(W), self.row_penalty, count)
        return replace(rank_by_score(np.linalg.norm(W, axis=1), relative=True), coef=W, embedding=X @ W)

    def _first_projection(self, problem: DiscriminantProblem, count: int) -> Float:
        """Return the solution for equal weights; a random W with XW = 0 and WᵀW = I if there are many features."""
        n, d = problem.X.shape
        if d < n + count:
            return problem.projection(np.ones(d), self.row_penalty, count)
        samples = np.linalg.qr(np.asarray(problem.X.rows(slice(None)), dtype=np.float64).T)[0]
        directions = check_random_state(self.random_state).standard_normal((d, count))
        return np.linalg.qr(directions - samples @ (samples.T @ directions))[0]


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
        self, X: Columns, gram: Float | None, L: StructureLaplacian, n_clusters: int, last: FeatureWeights | None = None
    ) -> FeatureWeights:
        Y = self._eigenvectors(L, self._dimension(n_clusters), None if last is None else last.target)
        h = np.ones(X.shape[1])
        for _ in range(_REWEIGHTED_STEPS):
            W = ReweightedRidge(X, h, self.row_penalty, gram=gram).coef(Y)
            h = inverse_weights(W)
        return FeatureWeights(W, Y, X.transposed_matmul(Y), self.row_penalty, self.row_penalty)
