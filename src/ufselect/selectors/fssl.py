"""FSSL: subspace learning by a row-sparse projection (Gu, Li and Han, IJCAI 2011)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import scipy.sparse as sp

from ufselect._utils.types import Float
from ufselect.base import (
    CHOICE_OF_EDGES,
    SHARE,
    ClusterSelector,
    Constraints,
    GivenStructure,
    affordable_gram,
    checked_coef,
    with_parameters,
)
from ufselect.base.ranking import Ranking, rank_by_row_norm
from ufselect.columns.dense import Columns
from ufselect.graphs.spectral import spectral_embedding
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.l21_path import l21_interpolation
from ufselect.solvers.penalties import penalty_of_share


@with_parameters
class FSSL(ClusterSelector):
    """Joint feature selection and subspace learning.

    Locality preserving projection with a row-sparse projection A,

        min ‖A‖₂,₁ + μ tr(AᵀXᵀLXA)  subject to  AᵀXᵀDXA = I,

    in the two steps of the paper: Y, the leading eigenvectors of Ly = λDy, then

        min ‖A‖₂,₁ + μ‖XA − Y‖².

    If the features can express Y exactly, in general if there are more features than samples, the constraint XA = Y
    can be used instead.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters; Y has c − 1 columns, or c if not centred. "auto" reads c off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Edge weights of the neighbour graph: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine similarity.
    width : float, default=1.0
        t, as a multiple of the root mean square distance between samples.
    exact : bool, default=False
        Whether to minimise ‖A‖₂,₁ subject to XA = Y, the first case of the paper. Raises an error if no A satisfies it.
    row_penalty : float, default=0.3
        1/μ, as a share of the smallest 1/μ at which A = 0. The larger it is, the fewer features span the subspace.
    scale : {"moderate", "standard"} or None, default="standard"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. The default is "standard" because "moderate" scored lower here
        (see docs/methods.md).
    center : bool, default=True
        Whether to centre the columns and the embedding, which amounts to an intercept.
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
        Seed of the iterative eigensolver, which is used above 500 samples.
    verbose : int, default=0
        If 1, show the elapsed time on a terminal.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ‖aⱼ‖ times the root mean square of the columns, independent of the unit of X; larger is better.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, as given or read off the data.
    coef_ : ndarray of shape (n_features, n_dimensions)
        A, for the columns centred and scaled as ``center`` and ``scale`` say.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Y.
    alignment_curve_ : ndarray
        Entry m−1 is the alignment of the best m features with the embedding: the cosine between their kernels.
    alignments_ : ndarray of shape (n_features,)
        Alignment of each feature by itself.
    r2_curve_ : ndarray
        Entry m−1 is R² of the embedding on the best m features.

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

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    weights: str = "heat"
    width: float = 1.0
    exact: bool = False
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
        **CHOICE_OF_EDGES,
        "row_penalty": SHARE,
        "exact": ["boolean"],
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        return self._learn_from_graph(X, *self._graph_and_clusters(X), constraints)

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        if structure.graph is None:
            return self._regressed(X, structure.factor, constraints)
        return self._learn_from_graph(X, structure.affinity, self._clusters_in(structure), constraints)

    def _learn_from_graph(self, X: Columns, graph: sp.csr_array, n_clusters: int, constraints: Constraints) -> Ranking:
        Y = spectral_embedding(graph, self._dimension(n_clusters), random_state=self.random_state).vectors
        return self._regressed(X, Y, constraints).with_attributes(n_clusters_=n_clusters)

    def _regressed(self, X: Columns, Y: Float, constraints: Constraints) -> Ranking:
        target = X.centered_like(Y)
        if self.exact:
            found = l21_interpolation(X, target)
        else:
            found = l21_regression(X, target, penalty_of_share(X, target, self.row_penalty), gram=affordable_gram(X))
        A = checked_coef(found)
        return rank_by_row_norm(X, A, Y, constraints)
