"""JELSR: an embedding and its row-sparse regression, learned together (Hou, Nie, Li, Yi and Wu, 2011 and 2014)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ufselect._utils.types import Float
from ufselect.base import (
    ITERATIONS,
    POSITIVE,
    SHARE,
    ClusterSelector,
    Constraints,
    GivenStructure,
    Iterations,
    affordable_gram,
    with_parameters,
)
from ufselect.base.ranking import Ranking, rank_by_row_norm
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import Laplacian, SparseLaplacian, neighbor_laplacian, quadratic_form
from ufselect.graphs.local_models import local_laplacian
from ufselect.graphs.spectral import smallest_of_crowded
from ufselect.solvers.penalties import penalty_for_zero_of_any_embedding
from ufselect.solvers.reweighted import ReweightedRidge, SharedColumns, even_row_norms, inverse_weights, row_norm_sum


@with_parameters
class JELSR(ClusterSelector):
    """Joint embedding learning and sparse regression.

    An embedding Y that keeps local geometry L and that few features can predict,

        min tr(YᵀLY) + β( ‖XW − Y‖² + α‖W‖₂,₁ )  subject to  YᵀY = I,

    over Y and W. ‖W‖₂,₁ is bounded by a quadratic function, for whose weights Y and W are found together; then the
    weights are updated.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters; Y has c − 1 columns, or c if not centred. "auto" reads c off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    width : float, default=1.0
        t of the edges exp(−‖xᵢ−xⱼ‖²/(2t²)) of "lpp", as a multiple of the root mean square distance between samples.
    local_model : {"lle", "lpp", "ltsa"}, default="lle"
        L: locally linear reconstruction, the Laplacian of a neighbour graph, or alignment of local tangent spaces. The
        default differs from that of ``GLSPFS`` because the paper uses "lle".
    regression_weight : float, default=1.0
        β, the weight of the regression against the local geometry.
    row_penalty : float, default=0.3
        α, as a share of the smallest α at which W = 0 whatever the embedding.
    scale : {"moderate", "standard"} or None, default="moderate"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is.
    center : bool, default=True
        Whether to centre the columns. The columns of Y then sum to zero.
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
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-4
        Stop when the relative decrease of the objective is at most this.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the iterative eigensolver, which is used above 1500 samples.
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
    coef_ : ndarray of shape (n_features, n_dimensions)
        W, for the centred and scaled columns.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Y.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each iteration. It never increases, up to the precision of the eigensolver above 1500 samples.
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
    C. Hou, F. Nie, D. Yi and Y. Wu, "Feature selection via joint embedding learning and sparse regression",
    Proceedings of IJCAI 2011, 1324-1329.

    C. Hou, F. Nie, X. Li, D. Yi and Y. Wu, "Joint embedding learning and sparse regression: a framework for
    unsupervised feature selection", IEEE Transactions on Cybernetics 44(6), 2014, 793-804.

    Examples
    --------
    >>> from ufselect import JELSR
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[JELSR(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    width: float = 1.0
    local_model: str = "lle"
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
    max_iter: int = 100
    tol: float = 1e-4
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **ITERATIONS,
        "local_model": [StrOptions({"lle", "lpp", "ltsa"})],
        "regression_weight": POSITIVE,
        "row_penalty": SHARE,
        "width": POSITIVE,
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        nearest, n_clusters = self._neighborhood(X)
        L = local_laplacian(X, nearest, self.local_model, width=self.width, dimension=n_clusters, n_jobs=self.n_jobs)
        return self._learn_from_laplacian(X, SparseLaplacian(L), n_clusters, constraints)

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        A, n_clusters = self._graph_and_clusters_of(structure)
        return self._learn_from_laplacian(X, SparseLaplacian(neighbor_laplacian(A)), n_clusters, constraints)

    def _learn_from_laplacian(self, X: Columns, L: Laplacian, n_clusters: int, constraints: Constraints) -> Ranking:
        embedding = partial(self._embedding, self._dimension(n_clusters))
        Y, gram, shared = embedding(L, None), affordable_gram(X), SharedColumns(X)
        alpha = self.row_penalty * penalty_for_zero_of_any_embedding(X)
        weights = 2.0 * even_row_norms(X, Y.shape[1])
        iterations = Iterations(self)
        for _ in iterations:
            state = embed_and_regress(
                X, L, weights, alpha, self.regression_weight, embedding, Y, gram=gram, shared=shared
            )
            Y, weights = state.Y, inverse_weights(state.W)
            iterations.record(state.objective)
        ranking = rank_by_row_norm(X, state.W, Y, constraints)
        return ranking.with_attributes(n_clusters_=n_clusters, **iterations.attributes())

    def _embedding(self, dimension: int, L: Laplacian, warm_start: Float | None) -> Float:
        return smallest_of_crowded(
            L, dimension, nontrivial=self.center, warm_start=warm_start, random_state=self.random_state
        ).vectors


class PredictedLaplacian(Laplacian):
    """L + β(I − XP), P the ridge regression that predicts an embedding from the features."""

    def __init__(self, L: Laplacian, ridge: ReweightedRidge, weight: float) -> None:
        super().__init__(L.shape[0])
        self.L, self.ridge, self.weight = L, ridge, weight

    def _matmat(self, B: Float) -> Float:
        return self.L @ B + self.weight * self.ridge.residual(B)

    def toarray(self) -> Float:
        """The matrix as a dense array, for small n."""
        return self.L.toarray() + self.weight * self.ridge.residual(np.eye(self.shape[0]))


class JointState(NamedTuple):
    """Y, W and the objective."""

    Y: Float
    W: Float
    objective: float


def embed_and_regress(
    X: Columns,
    L: Laplacian,
    weights: Float,
    alpha: float,
    beta: float,
    embedding: Callable[[Laplacian, Float | None], Float],
    warm_start: Float | None = None,
    *,
    gram: Float | None = None,
    shared: SharedColumns | None = None,
) -> JointState:
    """Y and W that minimise tr(YᵀLY) + β(‖XW − Y‖² + α Σⱼ ‖wⱼ‖²/hⱼ) for given h."""
    ridge = ReweightedRidge(X, weights, alpha, gram=gram, shared=shared)
    Y = embedding(PredictedLaplacian(L, ridge, beta), warm_start)
    W, fitted = ridge.fit(Y)
    misfit = float(np.sum((Y - fitted) ** 2))
    return JointState(Y, W, quadratic_form(L, Y) + beta * (misfit + alpha * row_norm_sum(W)))
