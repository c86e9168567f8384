"""MRSF: spectral feature selection with minimum redundancy (Zhao, Wang and Liu, AAAI 2010)."""

from __future__ import annotations

from typing import Any, ClassVar

from ufselect._backend.columns import Columns
from ufselect._ranking import Ranking, rank_by_explanation
from ufselect.base import POSITIVE, ClusterSelector, affordable_gram, coef_of
from ufselect.graphs.kernel import kernel_factor
from ufselect.solvers.l21_path import l21_path

_USUAL_ROWS = 50


class MRSF(ClusterSelector):
    """Spectral feature selection with minimum redundancy.

    A factor Y of the samples' similarity, its largest eigenvectors times the roots of their eigenvalues, is regressed
    on all features together,

        min ‖Y − XW‖²  subject to  ‖W‖₂,₁ ≤ t,

    and t grows until as many features as are wanted have entered: the earlier, the better. A feature that says what
    an earlier one says has nothing left to explain and enters late.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, or which fraction of them. "auto" takes the fewest that explain 95 % of what all features
        together explain of the similarity.
    n_clusters : int or "auto", default="auto"
        c, about the number of clusters. Y has c − 1 columns, which tell c clusters apart, or c where columns are not
        centred. "auto" reads it off the widest gap between the eigenvalues of a neighbour graph,
        from 2 to √n (50 at most).
    n_neighbors : int or "auto", default="auto"
        k, the neighbours of a sample in that graph. "auto" is 5, or fewer where there are fewer samples.
    width : float, default=1.0
        t of the Gaussian kernel exp(−‖xᵢ−xⱼ‖²/(2t²)), the similarity, as a multiple of the root mean square distance
        between samples. Above 3000 samples the kernel is approximated from 1000 of them.
    scale : {"standard"} or None, default="standard"
        Give all columns unit variance, as in the paper, or take them as they are.
    center : bool, default=True
        Centre the columns and the kernel.
    n_jobs : int or None, default=None
        Threads of the neighbour search; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Choice of the samples that stand for all.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The penalty at which a feature enters, as a share of the smallest that lets none in: larger is better. For
        those that have not entered, their nearness to doing so.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.
    n_clusters_ : int
        c.
    coef_ : ndarray of shape (n_features, n_dimensions)
        W where the path was left.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Y.
    structure_curve_ : ndarray
        Entry m−1 is the share of Y that the best m features explain.

    References
    ----------
    Z. Zhao, L. Wang and H. Liu, "Efficient spectral feature selection with minimum redundancy", Proceedings of AAAI
    2010, 673-678.

    Examples
    --------
    >>> from ufselect import MRSF
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[MRSF(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        "width": POSITIVE,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        n_clusters: int | str = "auto",
        n_neighbors: int | str = "auto",
        width: float = 1.0,
        scale: str | None = "standard",
        center: bool = True,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.width = width
        self.scale = scale
        self.center = center
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        self._find_clusters(X)
        Y = kernel_factor(X, self.width, count=self._dimension(), random_state=self.random_state)
        gram = affordable_gram(X)
        path = l21_path(X, Y, min(wanted or _USUAL_ROWS, X.shape[1]), gram=gram)
        return rank_by_explanation(X, path.entries, Y, wanted, coef=coef_of(path, stacklevel=4))
