"""RUFS: robust clusters and the features that predict them (Qian and Zhai, IJCAI 2013)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from ufselect._utils.types import Float, Indices
from ufselect.base import ITERATIONS, NOT_NEGATIVE, POSITIVE, SHARE, ClusterSelector, Constraints, with_parameters
from ufselect.base.ranking import Ranking, rank_by_row_norm
from ufselect.columns.dense import Columns
from ufselect.graphs.components import principal_components
from ufselect.graphs.local_models import (
    difference_grams,
    gaussian_of_grams,
    kernel_prediction_weights,
    residual_laplacian,
    weights_as_matrix,
    with_self,
)
from ufselect.graphs.neighbors import Neighbors, squared_width
from ufselect.solvers.nonnegative import indicators, monotone_step, orthogonality_cost
from ufselect.solvers.reweighted import (
    KernelSystem,
    Remembered,
    ReweightedRidge,
    SharedColumns,
    even_row_norms,
    inverse_weights,
    row_norm_sum,
)
from ufselect.solvers.robust_ridge import Known, RobustRidge

_SMOOTHING = 1e-6
_LOCAL_RIDGE = 0.1
_NEGLIGIBLE = 1e-10
_CERTAIN_DIGITS = 9  # of principal components, beside the largest
_FEW = 0.5  # columns for a sample up to which a system of their number takes less time than one of the samples


@with_parameters
class RUFS(ClusterSelector):
    """Robust unsupervised feature selection.

    Learns cluster indicators G, by a matrix factorisation that is robust to outliers and smooth under local learning,
    together with the features that predict them:

        min ‖X − GF‖₂,₁ + ν tr(GᵀTG) + α‖XW − G‖₂,₁ + β‖W‖₂,₁ + (z/2)‖GᵀG − I‖²  subject to  F, G ≥ 0,

    the first and third norm over samples, T the error of predicting G at a sample from its neighbours. z grows from 1
    to 1000 while G settles. All columns of X are mapped onto [0, 1], because F and G are not negative, so there is no
    ``scale``; for the prediction they are centred and an intercept is added.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the number of columns of G. "auto" reads it off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    width : float, default=1.0
        t of the Gaussian kernel exp(−‖xᵢ−xⱼ‖²/(2t²)) of local learning, as a multiple of the root mean square distance
        between samples.
    local_weight : float, default=1.0
        ν, in units in which the first term is c at the start, and so is the third if W = 0.
    regression_weight : float, default=1.0
        α, in the same units.
    row_penalty : float, default=0.3
        β, as a share of the smallest β at which W = 0 for the first G.
    center : bool, default=True
        Whether to predict G from centred columns with an intercept. The paper has no intercept: then any column may
        take its role, whether it is informative or not.
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
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of k-means, from which G starts, and of the eigensolver.
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
        W, for the columns mapped onto [0, 1].
    embedding_ : ndarray of shape (n_samples, c)
        G. The largest entry of a row indicates the cluster of a sample.
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
    M. Qian and C. Zhai, "Robust unsupervised feature selection", Proceedings of IJCAI 2013, 1621-1627.

    Examples
    --------
    >>> from ufselect import RUFS
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[RUFS(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    width: float = 1.0
    local_weight: float = 1.0
    regression_weight: float = 1.0
    row_penalty: float = 0.3
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
        **ITERATIONS,
        "local_weight": NOT_NEGATIVE,
        "regression_weight": POSITIVE,
        "row_penalty": SHARE,
        "width": POSITIVE,
    }
    del _parameter_constraints["scale"]

    def _prepared(self, X: Any) -> Columns:
        return Columns.of_unit_range(X)

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        nearest, n_clusters = self._neighborhood(X)
        T = self._local_learning(X, nearest)
        G = indicators(self._first_clusters(X, n_clusters), n_clusters)
        predictors = X.less_means() if self.center else X
        problem = self._in_units_of_the_start(X, predictors, T, G)
        state, course = self._tighten(problem.start(G), problem.step, problem.objective)
        ranking = rank_by_row_norm(predictors, state.W, state.G, constraints)
        return ranking.with_attributes(n_clusters_=n_clusters, **course)

    def _first_clusters(self, X: Columns, n_clusters: int) -> Indices:
        """Clusters by k-means, which starts from those of c − 1 principal components.

        The components solve the relaxed problem. Among all columns, where noise dominates distances, k-means ends in
        poor local optima that depend on the order of the samples, which are therefore taken by their distance from
        the mean.
        """
        components = principal_components(X, max(n_clusters - 1, 1), random_state=self.random_state)
        # Of two centers equally near, rounding would choose one, differently for dense and sparse X.
        unit = float(np.abs(components).max()) or 1.0
        components = np.asarray(np.round(components / unit, _CERTAIN_DIGITS))
        order = np.argsort(np.sum(components**2, axis=1), kind="stable")
        samples, components = X.by_row[order], components[order]
        coarse = KMeans(n_clusters, n_init=10, random_state=self.random_state).fit_predict(components)
        member = sp.csr_array((np.ones(len(order)), (coarse, np.arange(len(order)))), shape=(n_clusters, len(order)))
        sums = member @ samples
        centers = (sums.toarray() if sp.issparse(sums) else sums) / np.maximum(member.sum(axis=1), 1.0)[:, None]
        k_means = KMeans(n_clusters, init=centers.astype(X.dtype), n_init=1)
        labels = np.empty(len(order), dtype=np.intp)
        labels[order] = k_means.fit_predict(samples)
        return labels

    def _local_learning(self, X: Columns, nearest: Neighbors) -> sp.csr_array:
        """T = (I−A)ᵀ(I−A), A the weights of kernel ridge regression from neighbours."""
        X = X.for_distances()
        _, grams = with_self(nearest.index, difference_grams(X, nearest.index, n_jobs=self.n_jobs))
        kernels = gaussian_of_grams(grams, squared_width(X, self.width))
        return residual_laplacian(weights_as_matrix(nearest.index, kernel_prediction_weights(kernels, _LOCAL_RIDGE)))

    def _in_units_of_the_start(self, X: Columns, predictors: Columns, T: sp.csr_array, G: Float) -> RobustPrediction:
        """Weights with which the terms in X and in W = 0 are c at G."""
        c = G.shape[1]
        raw = RobustPrediction(X, predictors, T, 1.0, 1.0, 1.0, 1.0)
        reconstruction = c / float(raw.reconstruction_norms(G, raw.first_basis(G)).sum())
        target = predictors.centered_like(G)
        lengths = _smoothed_norms(target)
        alpha = self.regression_weight * c / float(lengths.sum())
        steepest = np.linalg.norm(predictors.transposed_matmul(target / lengths[:, None]), axis=1).max()
        beta = alpha * self.row_penalty * max(float(steepest), _NEGLIGIBLE * np.sqrt(predictors.squared_norms().max()))
        return RobustPrediction(X, predictors, T, reconstruction, self.local_weight, alpha, beta)


@dataclass(frozen=True)
class RobustState:
    """G, F, W and the intercept b."""

    G: Float
    F: Float
    W: Float
    b: Float


class RobustPrediction:
    """ρ‖X − GF‖₂,₁ + ν tr(GᵀTG) + α‖PW + 1bᵀ − G‖₂,₁ + β‖W‖₂,₁ and the step that lowers it.

    Norms of the residuals of samples are smoothed, √(‖·‖² + ε²) in place of ‖·‖, so that one that is fitted
    exactly does no harm. X is not negative, and the predictors P are X, for which b = 0, or X less its means.
    """

    def __init__(
        self, X: Columns, predictors: Columns, T: sp.csr_array, rho: float, nu: float, alpha: float, beta: float
    ) -> None:
        self.X, self.predictors, self.T = X, predictors, T
        self.rho, self.nu, self.alpha, self.beta = rho, nu, alpha, beta
        self.T_plus, self.T_minus = T.maximum(0.0), (-T).maximum(0.0)
        self.squared_row_norms = X.squared_row_norms()
        self._shared = SharedColumns(predictors)
        self._ridge = RobustRidge(predictors, beta / alpha, self._shared)
        self._predicted = Remembered(predictors.__matmul__)
        self._projected: Remembered[Float, Float] = Remembered(lambda F: X @ F.T)

    def start(self, G: Float) -> RobustState:
        """F by least squares, and W by ridge regression."""
        h = 2.0 * even_row_norms(self.predictors, G.shape[1])
        target = self.predictors.centered_like(G)
        W = ReweightedRidge(self.predictors, h, self.beta / self.alpha).coef(target)
        return RobustState(G, self.first_basis(G), W, (G - target)[0])

    def first_basis(self, G: Float) -> Float:
        """F by least squares, kept positive."""
        F, *_ = np.linalg.lstsq(G.T @ G, self.X.transposed_matmul(G).T, rcond=None)
        return np.maximum(F, 0.0) + _SMOOTHING

    def step(self, state: RobustState, z: float) -> RobustState:
        """W and b, F, and G in turn, none of which raises the objective."""
        weighted = state.G / (2.0 * self.reconstruction_norms(state.G, state.F))[:, None]
        W, b, pull = self._weights(state, weighted)
        # F ∘ √(GᵀEX / GᵀEGF), E = diag(1/(2‖xᵢ−gᵢF‖)); X and G are not negative.
        F, inner = state.F, weighted.T @ state.G
        F = F * np.sqrt(np.maximum(pull.T, 0.0) / np.maximum(inner @ F, np.finfo(float).tiny))
        return RobustState(self._indicators(state.G, F, self._predicted(W) + b, z), F, W, b)

    def objective(self, state: RobustState, z: float) -> float:
        """The objective with (z/2)‖GᵀG − I‖²."""
        G = state.G
        reconstruction = self.rho * float(self.reconstruction_norms(G, state.F).sum())
        smoothness = self.nu * float(np.sum(G * (self.T @ G)))
        prediction = self.alpha * float(_smoothed_norms(self._predicted(state.W) + state.b - G).sum())
        return reconstruction + smoothness + prediction + self.beta * row_norm_sum(state.W) + orthogonality_cost(G, z)

    def reconstruction_norms(self, G: Float, F: Float) -> Float:
        """‖xᵢ − gᵢF‖ for every sample, smoothed, without forming X − GF."""
        cross = np.sum(self._projected(F) * G, axis=1)
        squares = self.squared_row_norms - 2.0 * cross + np.sum((G @ (F @ F.T)) * G, axis=1)
        return np.sqrt(np.maximum(squares, 0.0) + _SMOOTHING**2)

    def _weights(self, state: RobustState, weighted: Float) -> tuple[Float, Float, Float]:
        """W and b that minimise the quadratic bound at the present ones, and XᵀEG, which takes no pass of its own."""
        G, P = state.G, self.predictors
        noise = 2.0 * _smoothed_norms(self._predicted(state.W) + state.b - G)
        h, penalty = inverse_weights(state.W), self.beta / self.alpha
        used = self._ridge.columns_in_use(h, noise)
        if P.shape[0] < P.shape[1] and len(used) > _FEW * P.shape[0]:
            system = KernelSystem(P, h, penalty * noise, shared=self._shared, intercept=P.centered)
            dual, b = system.solve_with_intercept(G) if P.centered else (system.solve(G), state.b)
            W, pull = self._weights_of_dual(self.X, h, dual, weighted)
            self._predicted.remember(W, G - (penalty * noise)[:, None] * dual - b)
            return W, b, pull
        coef, used, b, fitted = self._ridge.fit(G, h, noise, used, Known(state.W, self._predicted(state.W)))
        if len(used) == P.shape[1]:
            W, pull = coef, self.X.transposed_matmul(weighted)
        else:
            W, pull = self._weights_of_dual(self.X, h, (G - fitted - b) / (penalty * noise)[:, None], weighted)
            W[used] = coef
        self._predicted.remember(W, fitted)
        return W, b, pull

    @staticmethod
    def _weights_of_dual(X: Columns, h: Float, dual: Float, weighted: Float) -> tuple[Float, Float]:
        """W = HPᵀY = HXᵀY, as the columns of Y sum to zero if P is not X, and XᵀEG."""
        products = X.transposed_matmul(np.column_stack([dual, weighted]))
        return h[:, None] * products[:, : dual.shape[1]], products[:, dual.shape[1] :]

    def _indicators(self, G: Float, F: Float, fitted: Float, z: float) -> Float:
        near = self.rho / (2.0 * self.reconstruction_norms(G, F))[:, None]
        sure = self.alpha / (2.0 * _smoothed_norms(fitted - G))[:, None]
        pull = near * np.maximum(self._projected(F), 0.0) + self.nu * (self.T_minus @ G)
        pull += sure * np.maximum(fitted, 0.0)
        push = near * (G @ (F @ F.T)) + self.nu * (self.T_plus @ G) + sure * (G + np.maximum(-fitted, 0.0))
        return monotone_step(G, pull, push, z)


def _smoothed_norms(residuals: Float) -> Float:
    return np.sqrt(np.sum(residuals**2, axis=1) + _SMOOTHING**2)
