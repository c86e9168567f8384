"""CGSSL: clusters guide features whose weights share a hidden structure (Li, Liu, Yang, Zhou and Lu, TKDE 2014)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from ufselect._utils.types import Float
from ufselect.base import (
    CHOICE_OF_EDGES,
    ITERATIONS,
    NOT_NEGATIVE,
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
from ufselect.solvers.nonnegative import orthogonality_cost, spectral_step
from ufselect.solvers.penalties import penalty_of_share
from ufselect.solvers.reweighted import (
    Remembered,
    ReweightedRidge,
    SharedColumns,
    even_row_norms,
    inverse_weights,
    row_norm_sum,
)


@with_parameters
class CGSSL(ClusterSelector):
    """Clustering-guided sparse structural learning.

    Non-negative spectral clusters F are predicted by row-sparse weights W close to a common low-dimensional subspace Q,
    all learned together:

        min tr(FᵀLₙF) + α‖XW − F‖² + β‖W‖₂,₁ + γ‖W − QQᵀW‖² + (z/2)‖FᵀF − I‖²  subject to  F ≥ 0, QᵀQ = I,

    Lₙ the normalised Laplacian of a neighbour graph. z grows from 1 to 1000 while F settles. The objective is that of
    the paper; the updates are ours, as no program of the authors is known to us.

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
    structure_rank : int or "auto", default="auto"
        r, the number of columns of Q. It must be less than c, as the term in γ vanishes otherwise. "auto" is half of c,
        and at least 1.
    regression_weight : float, default=1.0
        α, the weight of the regression against the spectral term.
    structure_weight : float, default=0.1
        γ, as a multiple of α times the mean squared norm of the columns.
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
        z in each iteration. As long as it stays the same, the objective never increases.
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
    Z. Li, J. Liu, Y. Yang, X. Zhou and H. Lu, "Clustering-guided sparse structural learning for unsupervised feature
    selection", IEEE Transactions on Knowledge and Data Engineering 26(9), 2014, 2138-2150.

    Examples
    --------
    >>> from ufselect import CGSSL
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[CGSSL(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    weights: str = "heat"
    width: float = 1.0
    structure_rank: int | str = "auto"
    regression_weight: float = 1.0
    structure_weight: float = 0.1
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
        "structure_weight": NOT_NEGATIVE,
        "structure_rank": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        return self._learn_from_graph(X, *self._graph_and_clusters(X), constraints)

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        return self._learn_from_graph(X, *self._graph_and_clusters_of(structure), constraints)

    def _learn_from_graph(self, X: Columns, A: sp.csr_array, n_clusters: int, constraints: Constraints) -> Ranking:
        L, F = self._indicators_and_laplacian(A, n_clusters)
        alpha = self.regression_weight
        problem = StructuredPrediction(
            X,
            L,
            alpha,
            alpha * penalty_of_share(X, X.centered_like(F), self.row_penalty),
            self.structure_weight * alpha * float(X.squared_norms().mean()),
            self._rank(n_clusters),
            affordable_gram(X),
        )
        start = F, problem.first_weights(F, 2.0 * even_row_norms(X, n_clusters))
        (F, W), course = self._tighten(
            start, lambda state, z: problem.step(*state, z), lambda state, z: problem.objective(*state, z)
        )
        return rank_by_row_norm(X, W, F, constraints).with_attributes(n_clusters_=n_clusters, **course)

    def _rank(self, n_clusters: int) -> int:
        if isinstance(self.structure_rank, str):
            return max(n_clusters // 2, 1)
        if self.structure_rank >= max(n_clusters, 2):
            raise ValueError(
                f"structure_rank={self.structure_rank} must be less than the number of clusters, {n_clusters}: "
                "otherwise the structure term vanishes."
            )
        return self.structure_rank


class StructuredPrediction:
    """tr(FᵀLₙF) + α‖XW − F‖² + β‖W‖₂,₁ + γ‖W − QQᵀW‖² with the best Q of r columns, and the step that lowers it."""

    def __init__(
        self,
        X: Columns,
        L: NormalizedLaplacian,
        alpha: float,
        beta: float,
        gamma: float,
        rank: int,
        gram: Float | None = None,
    ) -> None:
        self.X, self.L, self.alpha, self.beta, self.gamma, self.rank, self.gram = X, L, alpha, beta, gamma, rank, gram
        self._shared = SharedColumns(X)
        self._fitted: Remembered[Float, Float] = Remembered(lambda W: self.X @ W)
        self._structure = Remembered(self._leading_vectors)

    def first_weights(self, F: Float, h: Float) -> Float:
        """W by ridge regression, before there is a common structure."""
        return self.ridge(h, self.beta / self.alpha).coef(self.X.centered_like(F))

    def ridge(self, h: Float, penalty: float) -> ReweightedRidge:
        """Ridge regression on X with weights for the features."""
        return ReweightedRidge(self.X, h, penalty, gram=self.gram, shared=self._shared)

    def step(self, F: Float, W: Float, z: float) -> tuple[Float, Float]:
        """F and W that do not increase the objective, with Q of the previous W."""
        target = self.X.centered_like(F)
        ridge = (_RidgeBySamples if self.X.shape[0] < self.X.shape[1] else _RidgeByFeatures)(
            self, inverse_weights(W), self._structure(W), target
        )
        fitted = F - target + ridge.first_fitted  # with W eliminated
        F = spectral_step(F, self.L.affinity, fitted, self.alpha, z)
        W, fitted = ridge.fit(self.X.centered_like(F))
        self._fitted.remember(W, fitted)
        return F, W

    def objective(self, F: Float, W: Float, z: float) -> float:
        """The objective with (z/2)‖FᵀF − I‖²."""
        misfit = float(np.sum((self.X.centered_like(F) - self._fitted(W)) ** 2))
        Q = self._structure(W)
        apart = float(np.sum((W - Q @ (Q.T @ W)) ** 2))
        prediction = self.alpha * misfit + self.beta * row_norm_sum(W) + self.gamma * apart
        return quadratic_form(self.L, F) + prediction + orthogonality_cost(F, z)

    def _leading_vectors(self, W: Float) -> Float:
        """Q, the leading left singular vectors of W."""
        left, _, _ = np.linalg.svd(W, full_matrices=False)
        return left[:, : self.rank]


class _RidgeByFeatures:
    """W(F) for given row weights and Q: αH⁻¹XᵀF with H = αXᵀX + βD + γ(I − QQᵀ), D = diag(1/hⱼ).

    H = B − γQQᵀ, and B = αXᵀX + βD + γI is inverted as a ridge regression with weights of its own. With C = B⁻¹Q and
    V = αB⁻¹XᵀF, W(F) = V + γC(I − γQᵀC)⁻¹QᵀV.
    """

    def __init__(self, problem: StructuredPrediction, h: Float, Q: Float, F: Float) -> None:
        self.problem, self.Q = problem, Q
        self.ridge = problem.ridge(h / (problem.beta + problem.gamma * h), 1.0 / problem.alpha)
        self.C = self.ridge.solve(Q) / problem.alpha
        self.correction = _correction(problem.gamma, Q.T @ self.C)
        self.first_fitted = self.fit(F)[1]

    def fit(self, F: Float) -> tuple[Float, Float]:
        """W(F) and XW(F)."""
        V = self.ridge.coef(F)
        W = V + self.C @ (self.correction @ (self.Q.T @ V))
        return W, self.problem.X @ W


class _RidgeBySamples:
    """The same W(F) for n < d, from systems of order n.

    With K = (βD + γI)⁻¹ and M = XKXᵀ + I/α, V = KXᵀM⁻¹F and C = KQ − KXᵀM⁻¹U, U = XKQ. So
    W(F) = K(XᵀY + QA) and XW(F) = F − Y/α with A = γ(I − γQᵀC)⁻¹UᵀM⁻¹F and Y = M⁻¹F − M⁻¹UA: one product with
    Xᵀ, and Q and the first F need one solution together.
    """

    def __init__(self, problem: StructuredPrediction, h: Float, Q: Float, F: Float) -> None:
        self.problem, self.Q = problem, Q
        self.K = (h / (problem.beta + problem.gamma * h))[:, None]
        self.system = problem.ridge(self.K[:, 0], 1.0 / problem.alpha).system
        self.U = problem.X @ (self.K * Q)
        solved = self.system.solve(np.column_stack([self.U, F]))
        self.MU, MF = np.hsplit(solved, [Q.shape[1]])
        self.correction = _correction(problem.gamma, Q.T @ (self.K * Q) - self.U.T @ self.MU)
        self.first_fitted = F - self._dual(MF)[0] / problem.alpha

    def fit(self, F: Float) -> tuple[Float, Float]:
        """W(F) and XW(F)."""
        dual, along_structure = self._dual(self.system.solve(F))
        W = self.K * (self.problem.X.transposed_matmul(dual) + self.Q @ along_structure)
        return W, F - dual / self.problem.alpha

    def _dual(self, MF: Float) -> tuple[Float, Float]:
        """Y and A from M⁻¹F."""
        along_structure = self.correction @ (self.U.T @ MF)
        return MF - self.MU @ along_structure, along_structure


def _correction(gamma: float, inner: Float) -> Float:
    """γ(I − γQᵀC)⁻¹."""
    return np.asarray(gamma * np.linalg.inv(np.eye(len(inner)) - gamma * inner))
