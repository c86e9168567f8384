"""LLCFS: feature weights learned with local learning-based clusters (Zeng and Cheung, TPAMI 2011)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.utils._param_validation import StrOptions

from ufselect._utils.types import Float, Indices
from ufselect.base import (
    ITERATIONS,
    POSITIVE,
    ClusterSelector,
    Constraints,
    Iterations,
    warn_not_converged,
    with_parameters,
)
from ufselect.base.ranking import Ranking, rank_by_explanation
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import SparseLaplacian, column_energies
from ufselect.graphs.local_models import (
    assembled,
    centered_grams,
    difference_grams,
    discriminant_blocks,
    residual_laplacian,
    weights_as_matrix,
)
from ufselect.graphs.neighbors import nearest_others
from ufselect.graphs.spectral import smallest_of_crowded

_SMALLEST_WEIGHT = 1e-12
_NEGLIGIBLE = 1e-12
_MOST_NEIGHBORS = 40


@with_parameters
class LLCFS(ClusterSelector):
    """Feature selection for local learning-based clustering.

    A ridge regression with a weight τ for each feature predicts the cluster indicators of a sample from those of its
    neighbours: for every sample i

        min_{w,b} β Σ_{j∈Nᵢ} (yⱼ − xⱼᵀw − b)² + wᵀdiag(τ)⁻¹w,    τ ≥ 0, Σⱼ τⱼ = 1.

    Y, YᵀY = I, are the indicators that are predicted best, and τⱼ is the size of the coefficients of feature j over
    all samples. The neighbours Nᵢ are those in the space of √τⱼ xⱼ. There is no common objective: graph, indicators and
    weights are updated in turn until the weights settle, for which there is no proof, or until the neighbour graph is
    no longer connected: then the clusters are separated and predictions carry no information about features.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters; Y has c − 1 columns, or c if not centred. "auto" reads c off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is 20, or up to 40 until the graph of the original features
        is connected: more than in other methods because the neighbours are the training samples of a regression.
    neighborhood : {"nearest", "mutual"}, default="nearest"
        Nᵢ: the k nearest samples, or, as in the paper, those among them that have sample i among their own k nearest. A
        sample without any is predicted as zero.
    fit_weight : float, default=0.1
        β, in units in which the samples have unit variance in the weighted space at the start.
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
    max_iter : int, default=20
        Maximum number of iterations. It is small because weights that have not settled by then usually never do.
    tol : float, default=0.05
        Stop when the weights, which sum to one, change by at most this in total. It is larger than in other methods
        because it bounds the change of the weights, not of an objective.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the iterative eigensolver, which is used above 1500 samples.
    verbose : int, default=0
        If 1, show a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        τ; larger is better.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, as given or read off the data.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Y.
    objective_history_ : ndarray of shape (n_iter_,)
        Sum of squared prediction errors after each iteration. It may increase.
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
    H. Zeng and Y.-M. Cheung, "Feature selection and kernel learning for local learning-based clustering", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 33(8), 2011, 1532-1547.

    Examples
    --------
    >>> from ufselect import LLCFS
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[LLCFS(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    neighborhood: str = "nearest"
    fit_weight: float = 0.1
    scale: str | None = "moderate"
    center: bool = True
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    min_distance: int = 1
    requirements: Any = None
    fdr: float | None = None
    max_iter: int = 20
    tol: float = 0.05
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **ITERATIONS,
        "neighborhood": [StrOptions({"nearest", "mutual"})],
        "fit_weight": POSITIVE,
    }

    def _usual_neighbors(self, n: int) -> int:
        """20, or fewer if there are few samples: each local model is fitted to a neighbourhood."""
        return min(20, n - 2)

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        n_clusters = self._count_clusters(X)
        k, neighborhoods = self._first_neighborhoods(X, n_clusters)
        d = X.shape[1]
        beta = 2.0 * self.fit_weight * d / X.mean_squared_distance()
        tau = np.full(d, 1.0 / d)
        iterations = Iterations(self)
        for iteration in iterations:
            if iteration:
                neighborhoods = self._neighborhoods(X.scaled(np.sqrt(tau)), k)
                if _count_parts(neighborhoods) > 1:
                    # Constants predict the indicators of the parts without error: no weights follow from them.
                    break
            models = [LocalRegressions.of(X, part, tau, beta, n_jobs=self.n_jobs) for part in neighborhoods]
            Y, error = self._indicators(models, self._dimension(n_clusters))
            tau, before = feature_weights(models, X, tau, Y), tau
            iterations.record(error, change=float(np.abs(tau - before).sum()))
        ranking = rank_by_explanation(X, tau, Y, constraints)
        return ranking.with_attributes(n_clusters_=n_clusters, **iterations.attributes())

    def _neighborhoods(self, X: Columns, k: int) -> list[Neighborhoods]:
        index = nearest_others(X, k, n_jobs=self.n_jobs).index
        if self.neighborhood == "mutual":
            return mutual_neighborhoods(index)
        return [Neighborhoods(np.arange(len(index)), index)]

    def _first_neighborhoods(self, X: Columns, n_clusters: int) -> tuple[int, list[Neighborhoods]]:
        """k and the neighbourhoods of all samples; if k is "auto", it doubles until their graph is connected."""
        k = self._count_neighbors(X.shape[0])
        neighborhoods = self._neighborhoods(X, k)
        most = min(_MOST_NEIGHBORS, X.shape[0] - 2)
        while isinstance(self.n_neighbors, str) and k < most and _count_parts(neighborhoods) > 1:
            k = min(2 * k, most)
            neighborhoods = self._neighborhoods(X, k)
        if (n_parts := _count_parts(neighborhoods)) > n_clusters:
            warn_not_converged(
                f"The neighbour graph has {n_parts} separate parts, more than n_clusters={n_clusters}: which of them "
                f"LLCFS separates is arbitrary. Increase n_neighbors (now {k})."
            )
        return k, neighborhoods

    def _indicators(self, models: list[LocalRegressions], dimension: int) -> tuple[Float, float]:
        """Y with the smallest prediction error, and that error."""
        L = SparseLaplacian(residual_laplacian(sum(model.prediction for model in models)))
        found = smallest_of_crowded(L, dimension, nontrivial=self.center, random_state=self.random_state)
        return found.vectors, float(found.values.sum())


@dataclass(frozen=True)
class Neighborhoods:
    """Samples with the same number of neighbours each."""

    rows: Indices
    index: Indices


def mutual_neighborhoods(index: Indices) -> list[Neighborhoods]:
    """Mutual neighbours of each sample, grouped by their number."""
    graph = weights_as_matrix(index, np.ones(index.shape))
    mutual = sp.csr_array(graph.multiply(graph.T))
    mutual.sort_indices()
    sizes = np.diff(mutual.indptr)
    parts = []
    for size in np.unique(sizes[sizes > 0]):
        rows = np.flatnonzero(sizes == size)
        index = mutual.indices[mutual.indptr[rows][:, None] + np.arange(size)]
        parts.append(Neighborhoods(rows, index.astype(np.intp)))
    return parts


def _count_parts(neighborhoods: list[Neighborhoods]) -> int:
    """Number of minimal sets of samples that contain all neighbours of their members."""
    here = np.concatenate([np.repeat(part.rows, part.index.shape[1]) for part in neighborhoods])
    there = np.concatenate([part.index.ravel() for part in neighborhoods])
    size = max(int(here.max()), int(there.max())) + 1
    graph = sp.csr_array((np.ones(len(here)), (here, there)), shape=(size, size))
    _, label = connected_components(graph, directed=True, connection="strong")
    leaving = label[here] != label[there]
    return len(np.unique(label[here])) - len(np.unique(label[here][leaving]))


@dataclass(frozen=True)
class LocalRegressions:
    """Ridge regressions from neighbours, as they predict indicators and weigh features.

    Bᵢ = H(HKᵢH + I/β)⁻¹H, Kᵢ = Xᵢdiag(τ)Xᵢᵀ of the neighbours of i.
    """

    index: Indices
    B: Float
    prediction: sp.csr_array

    @classmethod
    def of(
        cls, X: Columns, neighborhoods: Neighborhoods, tau: Float, beta: float, *, n_jobs: int | None = None
    ) -> LocalRegressions:
        """Regressions with feature weights τ.

        Inner products are of differences from sample i, whose own are zero: the prediction for it,
        (kᵢ − mean of the rows of Kᵢ)ᵀBᵢ + 1ᵀ/k, has kᵢ = 0.
        """
        rows, index = neighborhoods.rows, neighborhoods.index
        K = difference_grams(X, index, rows=rows, feature_weights=tau, n_jobs=n_jobs)
        B = discriminant_blocks(centered_grams(K), 1.0 / beta)
        weights = 1.0 / index.shape[1] - np.einsum("ij,ijl->il", K.mean(axis=1), B)
        return cls(index, B, weights_as_matrix(index, weights, rows=rows, n_samples=X.shape[0]))


def feature_weights(models: list[LocalRegressions], X: Columns, tau: Float, Y: Float) -> Float:
    """τⱼ ∝ √(Σᵢₗ w²) over the coefficients w = diag(τ)XᵢᵀBᵢYᵢ of feature j, in sum one.

    Σᵢₗ w² = τⱼ² fⱼᵀ(Σᵢ SᵢVᵢVᵢᵀSᵢᵀ)fⱼ with Vᵢ = BᵢYᵢ: one sparse matrix for all features.
    """
    V = [model.B @ Y[model.index] for model in models]
    if all(
        np.linalg.norm(v) <= _NEGLIGIBLE * np.linalg.norm(model.B) * np.linalg.norm(Y)
        for v, model in zip(V, models, strict=True)
    ):
        return tau  # constants predict everything, no feature has a coefficient
    scatters = [
        assembled(model.index, v @ v.transpose(0, 2, 1), X.shape[0]) for v, model in zip(V, models, strict=True)
    ]
    (energies,) = column_energies(X, sum(scatters))
    weights = tau * np.sqrt(np.maximum(energies, 0.0))
    if not weights.any():
        return tau
    weights = np.maximum(weights / weights.sum(), _SMALLEST_WEIGHT)
    return weights / weights.sum()
