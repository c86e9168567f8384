"""FSSL: subspace learning by a row-sparse projection (Gu, Li and Han, IJCAI 2011)."""

from __future__ import annotations

from typing import Any, ClassVar

from ufselect._backend.columns import Columns, Float
from ufselect._ranking import Ranking, rank_by_row_norm
from ufselect.base import EDGE_WEIGHTS, SHARE, ClusterSelector, affordable_gram, coef_of
from ufselect.graphs.neighbors import neighbor_graph
from ufselect.graphs.spectral import spectral_embedding
from ufselect.solvers.l21 import l21_regression, penalty_of_share
from ufselect.solvers.l21_path import l21_interpolation


class FSSL(ClusterSelector):
    """Joint feature selection and subspace learning.

    Locality preserving projection with a row-sparse projection A,

        min ‖A‖₂,₁ + μ tr(AᵀXᵀLXA)  subject to  AᵀXᵀDXA = I,

    in the two steps of the paper: Y, the leading eigenvectors of Ly = λDy, then

        min ‖A‖₂,₁ + μ‖XA − Y‖².

    Where the features can give Y exactly, in general with more features than samples, XA = Y may be asked for instead.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, or which fraction of them. "auto" takes the fewest that explain 95 % of what all features
        together explain of the embedding.
    n_clusters : int or "auto", default="auto"
        c, about the number of clusters. The subspace has c − 1 dimensions, which tell c clusters apart, or c where
        columns are not centred. "auto" reads it off the widest gap between the eigenvalues of a neighbour graph,
        from 2 to √n (50 at most).
    row_penalty : float, default=0.3
        1/μ as a share of the smallest 1/μ that leaves no feature: the larger, the fewer features carry the subspace.
    exact : bool, default=False
        Whether to minimise ‖A‖₂,₁ subject to XA = Y, the paper's first situation; an error where no A does that.
    n_neighbors : int or "auto", default="auto"
        k, the neighbours of a sample. "auto" is 5, or fewer where there are fewer samples.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Weights of the edges: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine of the angle.
    width : float, default=1.0
        t as a multiple of the root mean square distance between samples.
    scale : {"standard"} or None, default="standard"
        Give all columns unit variance, or take them as they are.
    center : bool, default=True
        Centre the columns and the embedding, that is, regress with an intercept.
    n_jobs : int or None, default=None
        Threads of the neighbour search; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Start of the iterative eigensolver, which is in use above 500 samples.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ‖aⱼ‖ times the root mean square of the columns, so that they do not depend on the unit of X; larger is better.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.
    n_clusters_ : int
        c.
    coef_ : ndarray of shape (n_features, n_dimensions)
        A, for the columns as centred and scaled.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Y.
    structure_curve_ : ndarray
        Entry m−1 is the share of the embedding that the best m features explain.

    References
    ----------
    Q. Gu, Z. Li and J. Han, "Joint feature selection and subspace learning", Proceedings of IJCAI 2011, 1294-1299.

    Examples
    --------
    >>> from ufselect import FSSL
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[FSSL(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **EDGE_WEIGHTS,
        "row_penalty": SHARE,
        "exact": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        n_clusters: int | str = "auto",
        row_penalty: float = 0.3,
        exact: bool = False,
        n_neighbors: int | str = "auto",
        weights: str = "heat",
        width: float = 1.0,
        scale: str | None = "standard",
        center: bool = True,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_clusters = n_clusters
        self.row_penalty = row_penalty
        self.exact = exact
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.scale = scale
        self.center = center
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        nearest = self._neighbors_and_clusters(X)
        graph = neighbor_graph(X, nearest, weights=self.weights, width=self.width)
        Y = spectral_embedding(graph, self._dimension(), random_state=self.random_state).vectors
        gram = affordable_gram(X)
        A = self._projection(X, X.centered_like(Y), gram)
        return rank_by_row_norm(X, A, Y, wanted)

    def _projection(self, X: Columns, Y: Float, gram: Float | None) -> Float:
        if self.exact:
            return coef_of(l21_interpolation(X, Y), stacklevel=5)
        gamma = penalty_of_share(X, Y, self.row_penalty)
        return coef_of(l21_regression(X, Y, gamma, gram=gram), stacklevel=5)
