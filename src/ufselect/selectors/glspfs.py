"""GLSPFS: global similarity and local geometry together (Liu, Wang, Zhang, Yin and Liu, TNNLS 2014)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from ufselect._utils.types import Float
from ufselect.base import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    ClusterSelector,
    Constraints,
    checked_coef,
    gram_is_affordable,
    with_parameters,
)
from ufselect.base.ranking import Ranking, rank_by_row_norm
from ufselect.columns.dense import Columns
from ufselect.graphs.kernel import kernel_factor
from ufselect.graphs.local_models import local_laplacian
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import penalty_of_share
from ufselect.solvers.reweighted import column_smoothness

_CARRIED_SHARE = 0.999


@with_parameters
class GLSPFS(ClusterSelector):
    """Global and local structure preservation for feature selection.

    A factor Y of the samples' similarity K = YYᵀ is regressed on the features, with one penalty for distorting the
    local geometry L and one for the number of features,

        min_W ‖XW − Y‖² + r₂ tr(WᵀXᵀLXW) + r₁‖W‖₂,₁.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters, and the dimension of the tangent spaces of "ltsa", which is at most k −
        2. "auto" reads c off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    width : float, default=1.0
        t of the Gaussian kernel K = exp(−‖xᵢ−xⱼ‖²/(2t²)) and of the edges of "lpp", as a multiple of the root mean
        square distance between samples. Above 3000 samples the kernel is approximated from 1000 of them.
    local_model : {"lpp", "lle", "ltsa"}, default="lpp"
        L: the Laplacian of a neighbour graph, locally linear reconstruction, or alignment of local tangent spaces. The
        default differs from that of ``JELSR`` because the papers differ: here "lpp" comes first.
    n_components : int, "auto" or "all", default="auto"
        Number of columns of Y, the leading eigenvectors of K. "auto" takes c − 1, which separate c clusters, or c if
        the data are not centred; "all" takes as many as carry 99.9 % of K. The paper takes all.
    local_weight : float, default=1.0
        r₂, the weight of the local geometry.
    row_penalty : float, default=0.3
        r₁, as a share of the smallest r₁ at which W = 0. The larger it is, the fewer features are used.
    scale : {"moderate", "standard"} or None, default="standard"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. The default is "standard" because "moderate" scored lower here
        (see docs/methods.md).
    center : bool, default=True
        Whether to centre the columns and the kernel.
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
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the choice of samples from which the kernel is approximated, and of the eigensolver.
    verbose : int, default=0
        If 1, show the elapsed time on a terminal.

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
    coef_ : ndarray of shape (n_features, n_components)
        W, for the centred and scaled columns.
    embedding_ : ndarray of shape (n_samples, n_components)
        Y.
    alignment_curve_ : ndarray
        Entry m−1 is the alignment of the best m features with Y: the cosine between their kernels.
    alignments_ : ndarray of shape (n_features,)
        Alignment of each feature by itself.
    r2_curve_ : ndarray
        Entry m−1 is R² of Y on the best m features.

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

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    width: float = 1.0
    local_model: str = "lpp"
    n_components: int | str = "auto"
    local_weight: float = 1.0
    row_penalty: float = 0.3
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
        "local_model": [StrOptions({"lpp", "lle", "ltsa"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto", "all"})],
        "local_weight": NOT_NEGATIVE,
        "row_penalty": SHARE,
        "width": POSITIVE,
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        nearest, n_clusters = self._neighborhood(X)
        L = local_laplacian(X, nearest, self.local_model, width=self.width, dimension=n_clusters, n_jobs=self.n_jobs)
        Y = self._similarity_factor(X, n_clusters)
        metric = sp.csr_array(sp.eye_array(X.shape[0]) + self.local_weight * L)
        gamma = penalty_of_share(X, Y, self.row_penalty)
        with_metric = column_smoothness(X, metric) if gram_is_affordable(X) else None
        W = checked_coef(l21_regression(X, Y, gamma, metric=metric, gram=with_metric))
        return rank_by_row_norm(X, W, Y, constraints).with_attributes(n_clusters_=n_clusters)

    def _similarity_factor(self, X: Columns, n_clusters: int) -> Float:
        if self.n_components != "all":
            count = self._dimension(n_clusters) if isinstance(self.n_components, str) else self.n_components
            return kernel_factor(X, self.width, count=count, random_state=self.random_state)
        Y = kernel_factor(X, self.width, count=None, random_state=self.random_state)
        carried = np.cumsum(np.sum(Y**2, axis=0))
        return Y[:, : int(np.searchsorted(carried, _CARRIED_SHARE * carried[-1])) + 1]
