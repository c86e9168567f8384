"""MRSF: spectral feature selection with minimum redundancy (Zhao, Wang and Liu, AAAI 2010)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

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
from ufselect.base.ranking import Ranking, rank_by_explanation
from ufselect.columns.dense import Columns
from ufselect.graphs.kernel import kernel_factor
from ufselect.solvers.l21_path import l21_path

_USUAL_ROWS = 50


@with_parameters
class MRSF(ClusterSelector):
    """Spectral feature selection with minimum redundancy.

    A factor Y of the samples' similarity, its largest eigenvectors times the roots of their eigenvalues, is regressed
    on all features together,

        min ‖Y − XW‖²  subject to  ‖W‖₂,₁ ≤ t,

    and t grows until the requested number of features has entered: the earlier, the better. A redundant feature has
    nothing left to explain and enters late.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters; Y has c − 1 columns, or c if not centred. "auto" reads c off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample in the graph from which n_clusters="auto" is read. "auto" is 10, or
        fewer if there are few samples.
    width : float, default=1.0
        t of the Gaussian kernel exp(−‖xᵢ−xⱼ‖²/(2t²)), as a multiple of the root mean square distance between samples.
        Above 3000 samples the kernel is approximated from 1000 of them.
    scale : {"moderate", "standard"} or None, default="moderate"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. The paper scales.
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
        Penalty at which a feature enters, as a share of the smallest one at which none does; larger is better. For
        features that have not entered, how close they are to entering.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, as given or read off the data.
    coef_ : ndarray of shape (n_features, n_dimensions)
        W at the end of the path, for the columns centred and scaled as ``center`` and ``scale`` say.
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

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    width: float = 1.0
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
        "width": POSITIVE,
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        n_clusters = self._count_clusters(X)
        Y = kernel_factor(X, self.width, count=self._dimension(n_clusters), random_state=self.random_state)
        return self._ranking(X, Y, constraints).with_attributes(n_clusters_=n_clusters)

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        return self._ranking(X, X.centered_like(self._factor_of(structure)), constraints)

    def _ranking(self, X: Columns, Y: Float, constraints: Constraints) -> Ranking:
        path = l21_path(X, Y, min(constraints.n_columns or _USUAL_ROWS, X.shape[1]), gram=affordable_gram(X))
        return rank_by_explanation(X, path.entries, Y, constraints, coef=checked_coef(path))
