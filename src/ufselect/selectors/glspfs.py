"""GLSPFS: global similarity and local geometry together (Liu, Wang, Zhang, Yin and Liu, TNNLS 2014)."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from ufselect._backend.columns import Columns, Float
from ufselect._ranking import Ranking, rank_by_row_norm
from ufselect.base import NOT_NEGATIVE, POSITIVE, SHARE, ClusterSelector, coef_of, gram_is_affordable
from ufselect.graphs.kernel import kernel_factor
from ufselect.graphs.local_models import local_laplacian
from ufselect.solvers.l21 import l21_regression, penalty_of_share
from ufselect.solvers.trace import column_smoothness

_CARRIED_SHARE = 0.999


class GLSPFS(ClusterSelector):
    """Global and local structure preservation for feature selection.

    A factor Y of the samples' similarity K = YYᵀ is regressed on the features, with a penalty on what the projection
    does to the local geometry L and one on the number of features,

        min_W ‖XW − Y‖² + r₂ tr(WᵀXᵀLXW) + r₁‖W‖₂,₁.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, or which fraction of them. "auto" takes the fewest that explain 95 % of what all features
        together explain of the similarity.
    local_model : {"lpp", "lle", "ltsa"}, default="lpp"
        L: the Laplacian of a neighbour graph, locally linear reconstruction, or alignment of local tangent spaces.
    n_components : int, "auto" or "all", default="auto"
        Columns of Y, the leading eigenvectors of K. "auto" takes the c − 1 that tell c clusters apart, or c where
        columns are not centred; "all" takes as many as carry 99.9 % of K: the paper takes all.
    n_clusters : int or "auto", default="auto"
        c, about the number of clusters, also the dimension of the tangent spaces of "ltsa", which is at most k − 2.
        "auto" reads it off the widest gap between the eigenvalues of a neighbour graph,
        from 2 to √n (50 at most).
    n_neighbors : int or "auto", default="auto"
        k, the neighbours of a sample. "auto" is 5, or fewer where there are fewer samples.
    local_weight : float, default=1.0
        r₂, the weight of the local geometry.
    row_penalty : float, default=0.3
        r₁ as a share of the smallest r₁ that leaves no feature: the larger, the fewer features are used.
    width : float, default=1.0
        t of the Gaussian kernel K = exp(−‖xᵢ−xⱼ‖²/(2t²)) and of the edges of "lpp", as a multiple of the root mean
        square distance between samples. Above 3000 samples the kernel is approximated from 1000 of them.
    scale : {"standard"} or None, default="standard"
        Give all columns unit variance, or take them as they are.
    center : bool, default=True
        Centre the columns and the kernel.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Choice of the samples that stand for all.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ‖wⱼ‖ times the root mean square of the columns, so that they do not depend on the unit of X; larger is better.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.
    n_clusters_ : int
        c.
    coef_ : ndarray of shape (n_features, n_components)
        W, for the columns as centred and scaled.
    embedding_ : ndarray of shape (n_samples, n_components)
        Y.
    structure_curve_ : ndarray
        Entry m−1 is the share of Y that the best m features explain.

    References
    ----------
    X. Liu, L. Wang, J. Zhang, J. Yin and H. Liu, "Global and local structure preservation for feature selection",
    IEEE Transactions on Neural Networks and Learning Systems 25(6), 2014, 1083-1095.

    Examples
    --------
    >>> from ufselect import GLSPFS
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[GLSPFS(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        "local_model": [StrOptions({"lpp", "lle", "ltsa"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto", "all"})],
        "local_weight": NOT_NEGATIVE,
        "row_penalty": SHARE,
        "width": POSITIVE,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        local_model: str = "lpp",
        n_components: int | str = "auto",
        n_clusters: int | str = "auto",
        n_neighbors: int | str = "auto",
        local_weight: float = 1.0,
        row_penalty: float = 0.3,
        width: float = 1.0,
        scale: str | None = "standard",
        center: bool = True,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.local_model = local_model
        self.n_components = n_components
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.local_weight = local_weight
        self.row_penalty = row_penalty
        self.width = width
        self.scale = scale
        self.center = center
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        nearest = self._neighbors_and_clusters(X)
        L = local_laplacian(
            X, nearest, self.local_model, width=self.width, dimension=self.n_clusters_, n_jobs=self.n_jobs
        )
        Y = self._similarity_factor(X)
        metric = sp.csr_array(sp.eye_array(X.shape[0]) + self.local_weight * L)
        gamma = penalty_of_share(X, Y, self.row_penalty)
        with_metric = column_smoothness(X, metric) if gram_is_affordable(X) else None
        W = coef_of(l21_regression(X, Y, gamma, metric=metric, gram=with_metric), stacklevel=4)
        return rank_by_row_norm(X, W, Y, wanted)

    def _similarity_factor(self, X: Columns) -> Float:
        if self.n_components != "all":
            count = self._dimension() if isinstance(self.n_components, str) else self.n_components
            return kernel_factor(X, self.width, count=count, random_state=self.random_state)
        Y = kernel_factor(X, self.width, count=None, random_state=self.random_state)
        carried = np.cumsum(np.sum(Y**2, axis=0))
        return Y[:, : int(np.searchsorted(carried, _CARRIED_SHARE * carried[-1])) + 1]
