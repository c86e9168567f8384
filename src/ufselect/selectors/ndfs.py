"""NDFS: features that predict non-negative spectral clusters (Li, Yang, Liu, Zhou and Lu, AAAI 2012)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import StrOptions

from ufselect._utils.types import Float
from ufselect.base import (
    CHOICE_OF_EDGES,
    ITERATIONS,
    POSITIVE,
    SHARE,
    ClusterSelector,
    Constraints,
    GivenStructure,
    affordable_gram,
    with_parameters,
)
from ufselect.base.ranking import Ranking, rank_by_row_norm
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import NormalizedLaplacian, quadratic_form
from ufselect.solvers.nonnegative import GROWING, orthogonality_cost, published_step, spectral_step
from ufselect.solvers.penalties import penalty_of_share
from ufselect.solvers.reweighted import (
    Remembered,
    ReweightedRidge,
    SharedColumns,
    even_row_norms,
    inverse_weights,
    row_norm_sum,
)

_PUBLISHED_ORTHOGONALITY = 1e8


@with_parameters
class NDFS(ClusterSelector):
    """Non-negative discriminative feature selection.

    Learns cluster indicators F by non-negative spectral analysis together with the features that predict them:

        min_{F≥0, W} tr(FᵀLₙF) + α( ‖XW − F‖² + β‖W‖₂,₁ ) + (z/2)‖FᵀF − I‖²,

    Lₙ the normalised Laplacian of a neighbour graph. z grows from 1 to 1000 while F settles. The z = 10⁸ of the paper
    keeps F at its initial value, so that neither α nor the data have any influence on it.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the number of columns of F. "auto" reads it off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Edge weights of the neighbour graph: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine similarity.
    width : float, default=1.0
        t, as a multiple of the root mean square distance between samples.
    update : {"monotone", "published"}, default="monotone"
        Update of F: one that never increases the objective at a given z, or the formula of the paper with its z = 10⁸.
    regression_weight : float, default=1.0
        α, the weight of the regression against the spectral term.
    row_penalty : float, default=0.3
        β, as a share of the smallest β at which W = 0 for the first F.
    scale : {"moderate", "standard"} or None, default="moderate"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is.
    center : bool, default=True
        Whether to centre the columns and regress with an intercept.
    keep : list of str or int, or None, default=None
        Features to select before all others, by name or number. The others follow by score.
    exclude : list of str or int, or None, default=None
        Features that take no part and rank last.
    groups : list, dict, str or None, default=None
        Groups of features that are selected as a whole and count as one each: a label for each feature, a dict from
        names to labels, or "prefix:=" for the part of the names before "=".
    min_distance : int, default=1
        Smallest distance between the indices of two selected features, for features in an order, such as wavelengths.
    requirements : Requirements, dict or None, default=None
        What the selection has to meet: a budget, quotas, limits or distances (:class:`ufselect.Requirements`).
    fdr : float or None, default=None
        Select among the features that share structure with others at this false discovery rate; None skips the test.
    max_iter : int, default=500
        Maximum number of iterations. It is larger than in other methods because each value of z takes its share.
    tol : float, default=5e-4
        Stop, or increase z, when the relative decrease of the objective is at most this. It is larger than in other
        methods because the multiplicative updates are slow.
    n_jobs : int or None, default=None
        Number of threads of the neighbour search. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of k-means, from which F starts, and of the eigensolver.
    verbose : int, default=0
        If 1, show a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ‖wⱼ‖ times the root mean square of the columns, independent of the unit of X; larger is better.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, as given or read off the data.
    coef_ : ndarray of shape (n_features, c)
        W, for the centred and scaled columns.
    embedding_ : ndarray of shape (n_samples, c)
        F. The largest entry of a row indicates the cluster of a sample.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each iteration, with the z of that iteration: it rises whenever z grows.
    orthogonality_history_ : ndarray of shape (n_iter_,)
        z in each iteration. As long as it stays the same, the objective never increases with the monotone update.
    n_iter_ : int
        Number of iterations.
    alignment_curve_ : ndarray
        Entry m−1 is the alignment of the best m features with the embedding: the cosine between their kernels.
    alignments_ : ndarray of shape (n_features,)
        Alignment of each feature by itself.
    r2_curve_ : ndarray
        Entry m−1 is R² of the embedding on the best m features.

    References
    ----------
    Z. Li, Y. Yang, J. Liu, X. Zhou and H. Lu, "Unsupervised feature selection using nonnegative spectral analysis",
    Proceedings of AAAI 2012, 1026-1032.

    Examples
    --------
    >>> from ufselect import NDFS
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[NDFS(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    weights: str = "heat"
    width: float = 1.0
    update: str = "monotone"
    regression_weight: float = 1.0
    row_penalty: float = 0.3
    scale: str | None = "moderate"
    center: bool = True
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    min_distance: int = 1
    requirements: Any = None
    fdr: float | None = None
    max_iter: int = 500
    tol: float = 5e-4
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **CHOICE_OF_EDGES,
        **ITERATIONS,
        "regression_weight": POSITIVE,
        "row_penalty": SHARE,
        "update": [StrOptions({"monotone", "published"})],
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        return self._learn_from_graph(X, *self._graph_and_clusters(X), constraints)

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        return self._learn_from_graph(X, *self._graph_and_clusters_of(structure), constraints)

    def _learn_from_graph(self, X: Columns, A: sp.csr_array, n_clusters: int, constraints: Constraints) -> Ranking:
        L, F = self._indicators_and_laplacian(A, n_clusters)
        penalty = penalty_of_share(X, X.centered_like(F), self.row_penalty)
        problem = Prediction(X, L, self.regression_weight, penalty, affordable_gram(X))
        published = self.update == "published"
        advance = problem.published_step if published else problem.monotone_step

        def step(state: tuple[Float, Float, Float], z: float) -> tuple[Float, Float, Float]:
            F, W = advance(state[0], state[2], z)
            return F, W, inverse_weights(W)

        start = F, np.zeros((X.shape[1], n_clusters)), 2.0 * even_row_norms(X, n_clusters)
        weights = (_PUBLISHED_ORTHOGONALITY,) if published else GROWING
        (F, W, _), course = self._tighten(
            start, step, lambda state, z: problem.objective(state[0], state[1], z), weights
        )
        return rank_by_row_norm(X, W, F, constraints).with_attributes(n_clusters_=n_clusters, **course)


class Prediction:
    """tr(FᵀLₙF) + α(‖XW − F‖² + β‖W‖₂,₁) and the steps that lower it; ``gram`` is XᵀX, if available."""

    def __init__(
        self, X: Columns, L: NormalizedLaplacian, alpha: float, beta: float, gram: Float | None = None
    ) -> None:
        self.X, self.L, self.alpha, self.beta, self.gram = X, L, alpha, beta, gram
        self._shared = SharedColumns(X)
        self._fitted = Remembered(self.X.__matmul__)

    def monotone_step(self, F: Float, h: Float, z: float) -> tuple[Float, Float]:
        """F and W that do not increase the objective, with its penalty bounded by Σⱼ ‖wⱼ‖²/hⱼ + hⱼ/4."""
        ridge = self._ridge(h)
        fitted = F - ridge.residual(self.X.centered_like(F))  # with W eliminated
        F = spectral_step(F, self.L.affinity, fitted, self.alpha, z)
        W, fitted = ridge.fit(self.X.centered_like(F))
        self._fitted.remember(W, fitted)
        return F, W

    def published_step(self, F: Float, h: Float, z: float) -> tuple[Float, Float]:
        """F as updated in the paper, and the W that belongs to the previous F."""
        ridge = self._ridge(h)
        target = self.X.centered_like(F)
        slope = self.L @ F + self.alpha * ridge.residual(target)
        return published_step(F, slope, z), ridge.coef(target)

    def _ridge(self, h: Float) -> ReweightedRidge:
        return ReweightedRidge(self.X, h, self.beta, gram=self.gram, shared=self._shared)

    def objective(self, F: Float, W: Float, z: float) -> float:
        """The objective with (z/2)‖FᵀF − I‖²."""
        misfit = float(np.sum((self.X.centered_like(F) - self._fitted(W)) ** 2))
        prediction = self.alpha * (misfit + self.beta * row_norm_sum(W))
        return quadratic_form(self.L, F) + prediction + orthogonality_cost(F, z)
