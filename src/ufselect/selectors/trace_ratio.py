"""TraceRatio: the set of features of largest global against local scatter (Nie et al., AAAI 2008)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ufselect._backend.columns import Columns, Float, Indices
from ufselect._ranking import Ranking, from_best_to_worst
from ufselect.base import EDGE_WEIGHTS, GraphSelector
from ufselect.graphs.laplacian import neighbor_scatters
from ufselect.graphs.neighbors import neighbor_graph


class TraceRatio(GraphSelector):
    """The set of m features with the largest ratio of global to local scatter.

    With the affinity A of a neighbour graph, D its row sums, bⱼ = fⱼᵀ(D − D11ᵀD/1ᵀD1)fⱼ and sⱼ = fⱼᵀ(D − A)fⱼ,

        max_{|I|=m} λ(I),    λ(I) = Σ_{j∈I} bⱼ / Σ_{j∈I} sⱼ,

    found exactly: take the m largest bⱼ − λsⱼ, put λ to their ratio, until it stands still. The best m + 1 features
    need not contain the best m, so ask for as many as are wanted.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        m, how many features, or which fraction of them. "auto" takes as many as there are features whose own ratio
        bⱼ/sⱼ is above that of all features together.
    n_neighbors : int or "auto", default="auto"
        k, the neighbours of a sample. "auto" is 5, or fewer where there are fewer samples.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Weights of the edges: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine of the angle.
    width : float, default=1.0
        t as a multiple of the root mean square distance between samples.
    scale : {"standard"} or None, default="standard"
        Give all columns unit variance, or take them as they are: once the good features are exhausted, those of
        small variance then come first.
    center : bool, default=True
        Centre the columns, which only the cosine depends on.
    n_jobs : int or None, default=None
        Threads of the neighbour search; the result does not depend on it.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        bⱼ − λsⱼ at the largest λ, over the mean of bⱼ: larger is better, negative for features that lower the ratio.
    trace_ratio_ : float
        λ of the selected features.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.

    References
    ----------
    F. Nie, S. Xiang, Y. Jia, C. Zhang and S. Yan, "Trace ratio criterion for feature selection", Proceedings of
    AAAI 2008, 671-676.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ufselect import TraceRatio
    >>> X, _ = load_iris(return_X_y=True)
    >>> TraceRatio(2).fit(X).top_features()
    array([2, 3])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphSelector._parameter_constraints,
        **EDGE_WEIGHTS,
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        n_neighbors: int | str = "auto",
        weights: str = "heat",
        width: float = 1.0,
        scale: str | None = "standard",
        center: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.scale = scale
        self.center = center
        self.n_jobs = n_jobs

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        A = neighbor_graph(X, self._neighbors(X), weights=self.weights, width=self.width)
        between, within = neighbor_scatters(X, A)
        if wanted is None:
            wanted = max(int(np.count_nonzero(between * within.sum() > within * between.sum())), 1)
        # A feature that never varies between neighbours has a ratio as large as rounding lets it be.
        within = np.maximum(within, np.finfo(float).eps * between)
        best = best_ratio(between, within, wanted)
        self.trace_ratio_ = best.ratio
        scores = (between - best.ratio * within) / between.mean()
        return Ranking(from_best_to_worst(scores), scores, n_sufficient=wanted)


class RatioSet(NamedTuple):
    """The chosen features and their ratio."""

    chosen: Indices
    ratio: float


def best_ratio(between: Float, within: Float, size: int) -> RatioSet:
    """The ``size`` features with the largest Σb/Σs, by Dinkelbach's iteration, which ends after finitely many steps."""
    with np.errstate(divide="ignore"):
        chosen = np.argsort(-between / within, kind="stable")[:size]
    ratio = -np.inf
    while (better := float(between[chosen].sum() / within[chosen].sum())) > ratio:
        ratio = better
        following = np.argsort(-(between - ratio * within), kind="stable")[:size]
        if set(following) == set(chosen):
            break
        chosen = following
    return RatioSet(chosen, ratio)
