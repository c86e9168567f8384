"""EVSC: features to which the small eigenvalues of a graph are sensitive (Jiang and Ren, ICML 2011)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.utils._param_validation import StrOptions

from ufselect._utils.policy import SAME_EIGENVALUE
from ufselect._utils.types import Float
from ufselect.base import POSITIVE, ClusterSelector, Constraints, with_parameters
from ufselect.base.ranking import Ranking, rank_by_score
from ufselect.columns.dense import Columns
from ufselect.graphs.kernel import gaussian_kernel
from ufselect.graphs.laplacian import Laplacian, NormalizedLaplacian, column_energies, structure_laplacian
from ufselect.graphs.neighbors import neighbor_graph, squared_width
from ufselect.graphs.spectral import Spectrum, equal_values, smallest_eigenvectors


@with_parameters
class EVSC(ClusterSelector):
    """Select the features to which the small eigenvalues of a graph are most sensitive.

    Let feature r have the weight wᵣ in the affinity Sⱼₗ = exp(−Σᵣ wᵣ(xⱼᵣ−xₗᵣ)²/(2σ²)). With λ and u an eigenpair of the
    Laplacian, Lu = λDu and uᵀDu = 1, at w = 1

        ∂λ/∂wᵣ = −1/(4σ²) Σⱼₗ [(uⱼ−uₗ)² − λ(uⱼ²+uₗ²)] (xⱼᵣ−xₗᵣ)² Sⱼₗ,

    and the score of feature r is the sum of |∂λ/∂wᵣ| over the c smallest positive eigenvalues. The derivatives of a
    repeated eigenvalue are not defined individually; they are summed first. This is our derivation of the published
    idea; no program of its authors is known to us.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" takes those that score above the mean.
    n_clusters : int or "auto", default="auto"
        c, the number of eigenvalues. "auto" reads it off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    affinity : {"kernel", "neighbors"}, default="kernel"
        Graph: the Gaussian kernel of all pairs, which is a dense (n, n) array, or the same weights between the k
        nearest neighbours only. The default differs from that of ``SPEC`` because the positive eigenvalues of a
        neighbour graph describe the inside of clusters if these are well separated.
    width : float, default=1.0
        σ, as a multiple of the root mean square distance between samples.
    normalized : bool, default=True
        Whether to solve Lu = λDu. If False, solve Lu = λu, and the term in λ above is absent.
    scale : {"moderate", "standard"} or None, default="moderate"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. Without scaling, features of large variance score high.
    center : bool, default=True
        Whether to centre the columns. The score does not depend on it.
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
        Sensitivity of the eigenvalues; larger is better.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, as given or read off the data.

    References
    ----------
    Y. Jiang and J. Ren, "Eigenvalue sensitive feature selection", Proceedings of ICML 2011, 89-96.

    Examples
    --------
    >>> from ufselect import EVSC
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[EVSC(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    affinity: str = "kernel"
    width: float = 1.0
    normalized: bool = True
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
        "normalized": ["boolean"],
        "affinity": [StrOptions({"neighbors", "kernel"})],
        "width": POSITIVE,
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        S, n_clusters = self._affinity_and_clusters(X)
        scores = eigenvalue_sensitivities(X, S, n_clusters, normalized=self.normalized, random_state=self.random_state)
        ranking = rank_by_score(scores / (4.0 * squared_width(X, self.width)))
        return ranking.with_attributes(n_clusters_=n_clusters)

    def _affinity_and_clusters(self, X: Columns) -> tuple[Any, int]:
        if self.affinity == "neighbors":
            nearest, n_clusters = self._neighborhood(X)
            return neighbor_graph(X, nearest, width=self.width), n_clusters
        S = gaussian_kernel(X, self.width, n_copies=5 if self.normalized else 7)
        np.fill_diagonal(S, 0.0)
        return S, self._count_clusters(X)


def eigenvalue_sensitivities(X: Columns, S: Any, count: int, *, normalized: bool, random_state: Any = 0) -> Float:
    """Σ |Σⱼₗ Cⱼₗ(xⱼᵣ−xₗᵣ)²| over the ``count`` smallest positive eigenvalues, Cⱼₗ the bracket above times Sⱼₗ."""
    spectrum, scale = _positive_pairs(S, count, normalized, random_state)
    scores = np.zeros(X.shape[1])
    for group in equal_values(spectrum.values):
        U = spectrum.vectors[:, group] * scale[:, None]
        # Σⱼₗ Cⱼₗ(xⱼ−xₗ)² = 2(Σⱼ (C1)ⱼxⱼ² − fᵀCf), the Laplacian form of C.
        C = _bracket(U, spectrum.values[group] if normalized else np.zeros(U.shape[1]), S)
        (energies,) = column_energies(X, _laplacian_of(C))
        scores += 2.0 * np.abs(energies)
    return scores


def _positive_pairs(S: Any, count: int, normalized: bool, random_state: Any) -> tuple[Spectrum, Float]:
    """Eigenpairs of the smallest positive eigenvalues, and the factors that scale unit vectors to uᵀDu = 1."""
    n = S.shape[0]
    degrees = np.asarray(S.sum(axis=1)).ravel()
    L: Laplacian = NormalizedLaplacian(S) if normalized else structure_laplacian(None, sp.csr_array(S), 1.0)
    n_zero = connected_components(S, directed=False)[0] if sp.issparse(S) else 1
    asked, most = n_zero + count, n - 1
    while True:
        found = smallest_eigenvectors(L, min(asked, most), nontrivial=True, random_state=random_state)
        last = found.values[min(n_zero + count, n) - 2]
        beyond = np.flatnonzero(found.values > last + SAME_EIGENVALUE)
        if len(beyond) or asked >= most:
            break
        asked *= 2  # a repeated eigenvalue continues beyond those requested
    positive = slice(n_zero - 1, int(beyond[0]) if len(beyond) else None)
    scale = 1.0 / np.sqrt(degrees) if normalized else np.ones(n)
    return Spectrum(found.values[positive], found.vectors[:, positive]), scale


def _bracket(U: Float, values: Float, S: Any) -> Any:
    """Σᵢ [(uⱼ−uₗ)² − λᵢ(uⱼ²+uₗ²)] Sⱼₗ over the columns u of U."""
    squares = np.sum(U**2 * (1.0 - values), axis=1)
    if not sp.issparse(S):
        return (squares[:, None] + squares - 2.0 * (U @ U.T)) * S
    edges = sp.coo_array(S)
    row, column = edges.coords
    bracket = squares[row] + squares[column] - 2.0 * np.einsum("ij,ij->i", U[row], U[column])
    return sp.csr_array((bracket * edges.data, (row, column)), shape=S.shape)


def _laplacian_of(C: Any) -> Any:
    """diag(C1) − C."""
    sums = np.asarray(C.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(sums) - C) if sp.issparse(C) else np.diag(sums) - C
