"""LaplacianScore: features that vary little between neighbours (He, Cai and Niyogi, NIPS 2005)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from ufselect._utils.types import Float
from ufselect.base import CHOICE_OF_EDGES, Constraints, GivenStructure, GraphSelector, with_parameters
from ufselect.base.ranking import Ranking, rank_by_score
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import neighbor_scatters
from ufselect.graphs.neighbors import neighbor_graph


@with_parameters
class LaplacianScore(GraphSelector):
    """Select the features that vary least between neighbours, relative to their variance.

    With the affinity A of a neighbour graph, D its row sums and L = D − A,

        LSⱼ = f̃ⱼᵀLf̃ⱼ / f̃ⱼᵀDf̃ⱼ,    f̃ⱼ = fⱼ − (fⱼᵀD1/1ᵀD1)1,

    which is small for a good feature.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" takes those that score above the mean.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Edge weights of the neighbour graph: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine similarity.
    width : float, default=1.0
        t, as a multiple of the root mean square distance between samples. The value in the paper is close to the mean
        distance.
    scale : {"moderate", "standard"} or None, default="standard"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. Only the graph depends on it. The default is "standard"
        because "moderate" scored lower here (see docs/methods.md).
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
        2 − LS, which is not negative; larger is better.
    laplacian_scores_ : ndarray of shape (n_features,)
        LS, between 0 and 2; smaller is better. It is 2 for a constant column.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.

    References
    ----------
    X. He, D. Cai and P. Niyogi, "Laplacian score for feature selection", Advances in Neural Information
    Processing Systems 18, 2005, 507-514.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ufselect import LaplacianScore
    >>> X, _ = load_iris(return_X_y=True)
    >>> LaplacianScore(2).fit(X).top_features()
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
        return self._ranked(*neighbor_scatters(X, A))

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        return self._ranked(*self._scatters_of(X, structure))

    def _ranked(self, between: Float, within: Float) -> Ranking:
        return rank_by_score(2.0 - within / between)

    @property
    def laplacian_scores_(self) -> Any:
        """LS; smaller is better."""
        return 2.0 - self.scores_
