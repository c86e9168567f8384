"""SPFS: features that together keep the similarity of the samples (Zhao, Wang, Liu and Ye, TKDE 2013)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ufselect._utils.types import Float
from ufselect.base import (
    POSITIVE,
    ClusterSelector,
    Constraints,
    GivenStructure,
    affordable_gram,
    checked_coef,
    with_parameters,
)
from ufselect.base.ranking import Ranking, rank_by_explanation, rank_by_row_norm
from ufselect.columns.dense import Columns
from ufselect.graphs.kernel import kernel_factor
from ufselect.solvers.l21_path import l21_path, l21_regression_of_size

_USUAL_ROWS = 50
_ROUNDING = 1e-10


@with_parameters
class SPFS(ClusterSelector):
    """Similarity preserving feature selection.

    The features whose inner products reproduce a given similarity K of the samples best,

        min_{|I|=m} ‖ Σ_{j∈I} fⱼfⱼᵀ − K ‖²,

    found by one of three solvers. K = YYᵀ is the leading part of a Gaussian kernel.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        m, the number of features to select, or the fraction of features if a float. The best m + 1 features need not
        contain the best m. "auto" takes the features up to the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters; Y has c − 1 columns, or c if not centred. "auto" reads c off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample in the graph from which n_clusters="auto" is read. "auto" is 10, or
        fewer if there are few samples.
    width : float, default=1.0
        t of the Gaussian kernel exp(−‖xᵢ−xⱼ‖²/(2t²)), as a multiple of the root mean square distance between samples.
        Above 3000 samples the kernel is approximated from 1000 of them.
    solver : {"sfs", "nes", "lar"}, default="sfs"
        "sfs" selects features one by one, each time the one that lowers the objective most. "nes" and "lar" solve the
        relaxation ½‖Y − XW‖² + λ‖W‖₂,₁: "nes" with λ such that about m rows of W are not zero, ranked by ‖wⱼ‖; "lar"
        follows the solutions from the largest λ down and ranks features by when they enter, as ``MRSF`` does.
    scale : {"moderate", "standard"} or None, default="moderate"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. Without scaling, "sfs" prefers columns of small norm.
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
        Number of threads of the neighbour search. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the choice of samples from which the kernel is approximated, and of the eigensolver.
    verbose : int, default=0
        If 1, show the elapsed time on a terminal.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Larger is better. "sfs": decrease of the objective when the feature is selected, negative if it increases;
        "nes": ‖wⱼ‖ in units of the columns; "lar": λ at which the feature enters, as a share of the largest.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, as given or read off the data.
    coef_ : ndarray of shape (n_features, n_dimensions)
        W, for the columns centred and scaled as ``center`` and ``scale`` say; for "nes" and "lar" only.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Y.
    alignment_curve_ : ndarray
        Entry m−1 is the alignment of the best m features with Y: the cosine between their kernels.
    alignments_ : ndarray of shape (n_features,)
        Alignment of each feature by itself.
    r2_curve_ : ndarray
        Entry m−1 is R² of Y on the best m features.

    References
    ----------
    Z. Zhao, L. Wang, H. Liu and J. Ye, "On similarity preserving feature selection", IEEE Transactions on Knowledge
    and Data Engineering 25(3), 2013, 619-632.

    Examples
    --------
    >>> from ufselect import SPFS
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[SPFS(10, n_clusters=4, scale="standard").fit(X).top_features()].sum())
    10
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    width: float = 1.0
    solver: str = "sfs"
    scale: str | None = "moderate"
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
        "solver": [StrOptions({"sfs", "nes", "lar"})],
        "width": POSITIVE,
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        n_clusters = self._count_clusters(X)
        Y = kernel_factor(X, self.width, count=self._dimension(n_clusters), random_state=self.random_state)
        return self._ranking(X, Y, constraints).with_attributes(n_clusters_=n_clusters)

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        return self._ranking(X, X.centered_like(self._factor_of(structure)), constraints)

    def _ranking(self, X: Columns, Y: Float, constraints: Constraints) -> Ranking:
        n_rows = min(constraints.n_columns or _USUAL_ROWS, X.shape[1])
        if self.solver == "sfs":
            gains = similarity_gains(*_on_one_scale(X, Y, n_rows), n_rows)
            return rank_by_explanation(X, gains, Y, constraints)
        gram = affordable_gram(X)
        if self.solver == "nes":
            W = checked_coef(l21_regression_of_size(X, Y, n_rows, gram=gram))
            return rank_by_row_norm(X, W, Y, constraints)
        path = l21_path(X, Y, n_rows, gram=gram)
        return rank_by_explanation(X, path.entries, Y, constraints, coef=checked_coef(path))


def _on_one_scale(X: Columns, Y: Float, n_features: int) -> tuple[Columns, Float]:
    """Features of unit norm on average, and a similarity that m of them can reproduce.

    The scale of K relative to that of the features is arbitrary. Here its trace is m, the same as that of m features of
    unit norm: a smaller K would be exhausted before m features are found.
    """
    unit = X.scaled(np.full(X.shape[1], 1.0 / np.sqrt(X.squared_norms().mean())))
    return unit, Y * np.sqrt(n_features / np.sum(Y**2))


def similarity_gains(X: Columns, factor: Float, n_steps: int) -> Float:
    """Decrease of ‖Σfⱼfⱼᵀ − ΦΦᵀ‖² by each feature when it is selected.

    The gain of feature j is 2fⱼᵀRfⱼ − ‖fⱼ‖⁴, R the remainder of ΦΦᵀ. When feature s is selected, fⱼᵀRfⱼ decreases by
    (fⱼᵀf_s)², so gains only decrease and R is never formed. Features beyond ``n_steps`` have their gain after the last
    step.
    """
    kept = np.sum(X.transposed_matmul(factor) ** 2, axis=1)
    own = X.squared_norms() ** 2
    gains = 2.0 * kept - own
    rounding = _ROUNDING * float(np.max(2.0 * kept + own))
    open_ = np.ones(X.shape[1], dtype=bool)
    for _ in range(n_steps):
        left = np.where(open_, gains, -np.inf)
        best = int(np.argmax(left >= left.max() - rounding))  # of equal gains, the first
        open_[best] = False
        overlap = X.transposed_matmul(X.columns(np.array([best])))[:, 0]
        gains[open_] -= 2.0 * overlap[open_] ** 2
    return gains
