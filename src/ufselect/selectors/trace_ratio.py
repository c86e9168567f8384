"""TraceRatio: the set of features of largest global against local scatter (Nie et al., AAAI 2008)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ufselect._utils.types import Float, Indices
from ufselect.base import CHOICE_OF_EDGES, Constraints, GivenStructure, GraphSelector, with_parameters
from ufselect.base.ranking import Ranking, from_best_to_worst
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import neighbor_scatters
from ufselect.graphs.neighbors import neighbor_graph


@with_parameters
class TraceRatio(GraphSelector):
    """Select the m features with the largest ratio of global to local scatter.

    With the affinity A of a neighbour graph, D its row sums, bⱼ = fⱼᵀ(D − D11ᵀD/1ᵀD1)fⱼ and sⱼ = fⱼᵀ(D − A)fⱼ,

        max_{|I|=m} λ(I),    λ(I) = Σ_{j∈I} bⱼ / Σ_{j∈I} sⱼ,

    which is found exactly: take the m largest bⱼ − λsⱼ, set λ to their ratio, and repeat until λ stops changing. The
    best m + 1 features need not contain the best m.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        m, the number of features to select, or the fraction of features if a float. "auto" takes as many features as
        have a ratio bⱼ/sⱼ above that of all features together.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Edge weights of the neighbour graph: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine similarity.
    width : float, default=1.0
        t, as a multiple of the root mean square distance between samples.
    scale : {"moderate", "standard"} or None, default="standard"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. Without scaling, features of small variance come first once
        the good ones are exhausted. The default is "standard" because "moderate" scored lower here (see
        docs/methods.md).
    center : bool, default=True
        Whether to centre the columns. Only the cosine similarity depends on it.
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
    verbose : int, default=0
        If 1, show the elapsed time on a terminal.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        bⱼ − λsⱼ at the largest λ, divided by the mean of bⱼ. Larger is better; features that lower the ratio have
        negative scores.
    trace_ratio_ : float
        λ of the selected features.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.

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

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_neighbors: int | str = "auto"
    weights: str = "heat"
    width: float = 1.0
    scale: str | None = "standard"
    center: bool = True
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    min_distance: int = 1
    requirements: Any = None
    fdr: float | None = None
    n_jobs: int | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**GraphSelector._parameter_constraints, **CHOICE_OF_EDGES}

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        A = neighbor_graph(X, self._neighbors(X), **self._shape_of_graph)
        return self._ranked(*neighbor_scatters(X, A), constraints)

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        return self._ranked(*self._scatters_of(X, structure), constraints)

    def _ranked(self, between: Float, within: Float, constraints: Constraints) -> Ranking:
        count = constraints.n_columns
        if count is None:
            count = max(int(np.count_nonzero(between * within.sum() > within * between.sum())), 1)
        # The ratio of a feature that never varies between neighbours is bounded by rounding only.
        within = np.maximum(within, np.finfo(float).eps * between)
        best = best_ratio(between, within, count)
        scores = (between - best.ratio * within) / between.mean()
        ranking = Ranking(from_best_to_worst(scores), scores, n_sufficient=count)
        return ranking.with_attributes(trace_ratio_=best.ratio)


class RatioSet(NamedTuple):
    """Selected features and their ratio."""

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
