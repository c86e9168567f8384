"""MCFS: sparse regression of each eigenvector of a neighbour graph (Cai, Zhang and He, KDD 2010)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from ufselect._utils.progress import with_progress
from ufselect._utils.types import Float
from ufselect.base import (
    CHOICE_OF_EDGES,
    ClusterSelector,
    Constraints,
    GivenStructure,
    affordable_gram,
    with_parameters,
)
from ufselect.base.ranking import Ranking, rank_by_explanation
from ufselect.columns.dense import Columns
from ufselect.graphs.spectral import rotated_within_repeats, spectral_embedding
from ufselect.solvers.lars import first_of_opposites, lasso_of_size

_USUAL_NONZERO = 50


@with_parameters
class MCFS(ClusterSelector):
    """Unsupervised feature selection for multi-cluster data.

    The leading eigenvectors y_l of (D − A)y = λDy, A the affinity of a neighbour graph, are each regressed on the
    features by a lasso,

        min ‖y_l − Xw_l‖²  subject to  ‖w_l‖₁ ≤ t_l,

    with t_l such that a given number of coefficients is not zero. The score of feature j is max_l |w_jl|, w_l at unit
    length. Features that no regression uses are ranked by their inner products with the residuals.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters; c − 1 eigenvectors are used, or c if not centred. "auto" reads c off an
        eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Edge weights of the neighbour graph: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine similarity.
    width : float, default=1.0
        t, as a multiple of the root mean square distance between samples.
    n_nonzero : int or "auto", default="auto"
        Number of non-zero coefficients of each regression. "auto" divides the number of features to select, or 50 if
        that is "auto", among the eigenvectors. In the paper, each regression has as many as there are features to
        select.
    scale : {"moderate", "standard"} or None, default="standard"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. Without scaling, features of large variance get small
        coefficients. The default is "standard" because "moderate" scored lower here (see docs/methods.md).
    center : bool, default=True
        Whether to centre the columns and the eigenvectors, which amounts to an intercept.
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
    n_jobs : int or None, default=None
        Number of threads of the neighbour search. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the iterative eigensolver, which is used above 500 samples.
    verbose : int, default=0
        If 1, show a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Largest coefficient; larger is better, zero for features that no regression uses.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, as given or read off the data.
    coef_ : ndarray of shape (n_features, n_dimensions)
        Column l is w_l, at unit length.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Column l is y_l.
    alignment_curve_ : ndarray
        Entry m−1 is the alignment of the best m features with the embedding: the cosine between their kernels.
    alignments_ : ndarray of shape (n_features,)
        Alignment of each feature by itself.
    r2_curve_ : ndarray
        Entry m−1 is R² of the embedding on the best m features.

    References
    ----------
    D. Cai, C. Zhang and X. He, "Unsupervised feature selection for multi-cluster data", Proceedings of KDD 2010,
    333-342.

    Examples
    --------
    >>> from ufselect import MCFS
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[MCFS(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    weights: str = "heat"
    width: float = 1.0
    n_nonzero: int | str = "auto"
    scale: str | None = "standard"
    center: bool = True
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    min_distance: int = 1
    requirements: Any = None
    fdr: float | None = None
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **CHOICE_OF_EDGES,
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        return self._learn_from_graph(X, *self._graph_and_clusters(X), constraints)

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        if structure.graph is None:
            return self._regressed(X, structure.factor, constraints)
        return self._learn_from_graph(X, structure.affinity, self._clusters_in(structure), constraints)

    def _learn_from_graph(self, X: Columns, A: sp.csr_array, n_clusters: int, constraints: Constraints) -> Ranking:
        spectrum = spectral_embedding(A, self._dimension(n_clusters), random_state=self.random_state)
        ranking = self._regressed(X, rotated_within_repeats(spectrum, X), constraints)
        return ranking.with_attributes(n_clusters_=n_clusters)

    def _regressed(self, X: Columns, Y: Float, constraints: Constraints) -> Ranking:
        target = X.centered_like(Y)
        size = self.n_nonzero
        if isinstance(size, str):
            size = max(round((constraints.n_columns or _USUAL_NONZERO) / Y.shape[1]), 1)
        W = self._sparse_regressions(X, target, size, affordable_gram(X))
        left = np.linalg.norm(X.transposed_matmul(target - X @ W), axis=1)
        W /= np.maximum(np.linalg.norm(W, axis=0), np.finfo(float).tiny)
        return rank_by_explanation(X, np.abs(W).max(axis=1), Y, constraints, coef=W, also=left)

    def _of_columns_as_they_are(self, ranking: Ranking, unit: float) -> Ranking:
        """Return the ranking as it is: weights of unit length are the same in any unit."""
        return ranking

    def _sparse_regressions(self, X: Columns, Y: Float, size: int, gram: Float | None) -> Float:
        W = np.zeros((X.shape[1], Y.shape[1]))
        first = np.arange(X.shape[1])
        if gram is not None:
            first = np.flatnonzero(first_of_opposites(gram))
            X, gram = X.subset(first), gram[np.ix_(first, first)]
        for l in with_progress(range(Y.shape[1]), None, self.verbose, "MCFS", unit="it"):
            W[first, l] = lasso_of_size(X, Y[:, l], size, gram=gram)
        return W
