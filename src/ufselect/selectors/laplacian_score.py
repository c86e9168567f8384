"""LaplacianScore: features that vary little between neighbours (He, Cai and Niyogi, NIPS 2005)."""

from __future__ import annotations

from typing import Any, ClassVar

from ufselect._backend.columns import Columns
from ufselect._ranking import Ranking, rank_by_score
from ufselect.base import EDGE_WEIGHTS, GraphSelector
from ufselect.graphs.laplacian import neighbor_scatters
from ufselect.graphs.neighbors import neighbor_graph


class LaplacianScore(GraphSelector):
    """Features that vary little between neighbours, for their variance.

    With the affinity A of a neighbour graph, D its row sums and L = D − A,

        LSⱼ = f̃ⱼᵀLf̃ⱼ / f̃ⱼᵀDf̃ⱼ,    f̃ⱼ = fⱼ − (fⱼᵀD1/1ᵀD1)1,

    small for a good feature.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, or which fraction of them. "auto" takes those that score above the mean.
    n_neighbors : int or "auto", default="auto"
        k, the neighbours of a sample. "auto" is 5, or fewer where there are fewer samples.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Weights of the edges: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine of the angle.
    width : float, default=1.0
        t as a multiple of the root mean square distance between samples; the paper's is near the mean distance.
    scale : {"standard"} or None, default="standard"
        Give all columns unit variance, or take them as they are. Only the graph depends on it.
    center : bool, default=True
        Centre the columns, which only the cosine depends on.
    n_jobs : int or None, default=None
        Threads of the neighbour search; the result does not depend on it.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        2 − LS: larger is better, none is negative.
    laplacian_scores_ : ndarray of shape (n_features,)
        LS itself, between 0 and 2, smaller is better; 2 for a constant column.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.

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
        return rank_by_score(2.0 - within / between)

    @property
    def laplacian_scores_(self) -> Any:
        """LS, small for a good feature."""
        return 2.0 - self.scores_
