"""MCFS: sparse regression of each eigenvector of a neighbour graph (Cai, Zhang and He, KDD 2010)."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ufselect._backend.columns import Columns, Float
from ufselect._backend.progress import progress
from ufselect._ranking import Ranking, rank_by_explanation
from ufselect.base import EDGE_WEIGHTS, ClusterSelector, affordable_gram
from ufselect.graphs.neighbors import neighbor_graph
from ufselect.graphs.spectral import settled_within_repeats, spectral_embedding
from ufselect.solvers.lars import lasso_of_size

_USUAL_NONZERO = 50


class MCFS(ClusterSelector):
    """Unsupervised feature selection for multi-cluster data.

    The leading eigenvectors y_l of (D − A)y = λDy, A the affinity of a neighbour graph, are each regressed on the
    features by a lasso,

        min ‖y_l − Xw_l‖²  subject to  ‖w_l‖₁ ≤ t_l,

    with t_l such that a given number of coefficients is not zero. The score of feature j is max_l |w_jl|, w_l at unit
    length; features that no regression uses are ranked by what they have in common with its residuals.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, or which fraction of them. "auto" takes the fewest that explain 95 % of what all features
        together explain of the embedding.
    n_clusters : int or "auto", default="auto"
        c, about the number of clusters. c − 1 eigenvectors are taken, which tell c clusters apart, or c where columns
        are not centred. "auto" reads it off the widest gap between the eigenvalues of a neighbour graph,
        from 2 to √n (50 at most).
    n_nonzero : int or "auto", default="auto"
        Non-zero coefficients of each regression. "auto" divides the number of features to select, or 50 where that is
        for the data to say, among the eigenvectors; the paper gives each as many as are to be selected.
    n_neighbors : int or "auto", default="auto"
        k, the neighbours of a sample. "auto" is 5, or fewer where there are fewer samples.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Weights of the edges: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine of the angle.
    width : float, default=1.0
        t as a multiple of the root mean square distance between samples.
    scale : {"standard"} or None, default="standard"
        Give all columns unit variance, or take them as they are: those of large variance then get small coefficients.
    center : bool, default=True
        Centre the columns and the eigenvectors, that is, regress with an intercept.
    n_jobs : int or None, default=None
        Threads of the neighbour search; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Start of the iterative eigensolver, which is in use above 500 samples.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Larger is better; zero for features that no regression uses.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.
    n_clusters_ : int
        c.
    coef_ : ndarray of shape (n_features, n_dimensions)
        w_l by columns, at unit length.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        y_l by columns.
    structure_curve_ : ndarray
        Entry m−1 is the share of the embedding that the best m features explain.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **EDGE_WEIGHTS,
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        n_clusters: int | str = "auto",
        n_nonzero: int | str = "auto",
        n_neighbors: int | str = "auto",
        weights: str = "heat",
        width: float = 1.0,
        scale: str | None = "standard",
        center: bool = True,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_clusters = n_clusters
        self.n_nonzero = n_nonzero
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.scale = scale
        self.center = center
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        A = neighbor_graph(X, self._neighbors_and_clusters(X), weights=self.weights, width=self.width)
        spectrum = spectral_embedding(A, self._dimension(), random_state=self.random_state)
        Y = settled_within_repeats(spectrum, X)
        size = self._regression_size(wanted)
        gram = affordable_gram(X)
        target = X.centered_like(Y)
        W = self._sparse_regressions(X, target, size, gram)
        left = np.linalg.norm(X.transposed_matmul(target - X @ W), axis=1)
        W /= np.maximum(np.linalg.norm(W, axis=0), np.finfo(float).tiny)
        return rank_by_explanation(X, np.abs(W).max(axis=1), Y, wanted, coef=W, also=left)

    def _regression_size(self, wanted: int | None) -> int:
        if isinstance(self.n_nonzero, str):
            return max(round((wanted or _USUAL_NONZERO) / self._dimension()), 1)
        return self.n_nonzero

    def _sparse_regressions(self, X: Columns, Y: Float, size: int, gram: Float | None) -> Float:
        W = np.zeros((X.shape[1], Y.shape[1]))
        for l in progress(range(Y.shape[1]), self.verbose, "MCFS"):
            W[:, l] = lasso_of_size(X, Y[:, l], size, gram=gram)
        return W
