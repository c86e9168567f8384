"""SPEC: features that follow the spectrum of a graph (Zhao and Liu, ICML 2007)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ufselect._utils.memory import ensure_fits
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float
from ufselect.base import CHOICE_OF_EDGES, POSITIVE, ClusterSelector, Constraints, GivenStructure, with_parameters
from ufselect.base.ranking import Ranking, rank_by_score
from ufselect.columns.dense import Columns, column_blocks
from ufselect.graphs.kernel import gaussian_kernel
from ufselect.graphs.laplacian import Laplacian, NormalizedLaplacian
from ufselect.graphs.neighbors import Neighbors, neighbor_graph
from ufselect.graphs.spectral import smallest_eigenvectors


@with_parameters
class SPEC(ClusterSelector):
    """Select the features that follow the spectrum of the normalised Laplacian.

    With Lₙ = I − D^(-1/2)AD^(-1/2) = Σᵢ λᵢξᵢξᵢᵀ, ascending, f̂ⱼ = D^(1/2)fⱼ at unit length and aᵢ = f̂ⱼᵀξᵢ,

        φ₁ = Σᵢ λᵢʳaᵢ²,    φ₂ = Σ_{i≥2} λᵢʳaᵢ² / (1 − a₁²),    φ₃ = Σ_{i=2..c} (2ʳ − λᵢʳ)aᵢ²;

    the first two are small for a good feature, the third is large. φ₂ with r = 1 is the Laplacian score.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" takes those that score above the mean.
    n_clusters : int or "auto", default="auto"
        c, the number of clusters, used by φ₃ only. "auto" reads it off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    affinity : {"neighbors", "kernel"}, default="neighbors"
        Graph: the k nearest neighbours, or the Gaussian kernel of all pairs as in the paper, which is a dense (n, n)
        array.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Edge weights of the neighbour graph: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine similarity.
    width : float, default=1.0
        t of the heat weights and of the kernel, as a multiple of the root mean square distance between samples.
    criterion : {"phi1", "phi2", "phi3"}, default="phi3"
        φ₁ weighs the whole spectrum, φ₂ leaves out the trivial eigenvector, φ₃ uses only the c − 1 eigenvectors after
        it.
    power : float, default=1.0
        r. Unless it is an integer, φ₁ and φ₂ need all eigenvectors.
    scale : {"moderate", "standard"} or None, default="standard"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. The default is "standard" because "moderate" scored lower here
        (see docs/methods.md).
    center : bool, default=True
        Whether to centre the columns. φ₁ and φ₃ depend on it; the paper does not centre.
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
        2ʳ − φ₁, 2ʳ − φ₂ or φ₃, which are not negative; larger is better.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, for φ₃ only.

    References
    ----------
    Z. Zhao and H. Liu, "Spectral feature selection for supervised and unsupervised learning",
    Proceedings of ICML 2007, 1151-1157.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ufselect import SPEC
    >>> X, _ = load_iris(return_X_y=True)
    >>> SPEC(2, n_clusters=3).fit(X).top_features()
    array([2, 3])
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    affinity: str = "neighbors"
    weights: str = "heat"
    width: float = 1.0
    criterion: str = "phi3"
    power: float = 1.0
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
        "criterion": [StrOptions({"phi1", "phi2", "phi3"})],
        "power": POSITIVE,
        "affinity": [StrOptions({"neighbors", "kernel"})],
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        if self.criterion == "phi3":
            return self._by_spectrum(X, *self._affinity_and_clusters(X))
        return self._by_energies(X, self._affinity(X))

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        A = self._graph_of(structure)
        if self.criterion == "phi3":
            return self._by_spectrum(X, A, self._clusters_in(structure))
        return self._by_energies(X, A)

    def _by_spectrum(self, X: Columns, A: Any, n_clusters: int) -> Ranking:
        L = NormalizedLaplacian(A)
        scores = leading_energies(X, L, n_clusters - 1, self.power, random_state=self.random_state)
        return rank_by_score(scores).with_attributes(n_clusters_=n_clusters)

    def _by_energies(self, X: Columns, A: Any) -> Ranking:
        L = NormalizedLaplacian(A)
        energies = spectral_energies(X, L, self.power, without_trivial=self.criterion == "phi2")
        return rank_by_score(2.0**self.power - energies)

    def _affinity(self, X: Columns, nearest: Neighbors | None = None) -> Any:
        if self.affinity == "kernel":
            return gaussian_kernel(X, self.width, n_copies=2)
        return neighbor_graph(X, nearest or self._neighbors(X), weights=self.weights, width=self.width)

    def _affinity_and_clusters(self, X: Columns) -> tuple[Any, int]:
        if self.affinity == "kernel":
            return self._affinity(X), self._count_clusters(X)
        nearest, n_clusters = self._neighborhood(X)
        return self._affinity(X, nearest), n_clusters


def spectral_energies(X: Columns, L: NormalizedLaplacian, power: float, *, without_trivial: bool) -> Float:
    """φ₁ or φ₂: f̂ᵀLₙʳf̂ for every column, f̂ = D^(1/2)f at unit length, optionally without its trivial part."""
    apply = _power_of(L, power)
    trivial = L.trivial_vector()
    energies = np.empty(X.shape[1])
    for block, columns in column_blocks(X):
        weighted = np.sqrt(L.degrees)[:, None] * columns
        if without_trivial:
            weighted = weighted - np.outer(trivial, trivial @ weighted)
        energies[block] = np.einsum("ij,ij->j", weighted, apply(weighted)) / np.sum(weighted**2, axis=0)
    return energies


def _power_of(L: Laplacian, power: float) -> Any:
    """B ↦ LʳB, by r products if r is an integer."""
    if power == int(power):

        def repeated(B: Float) -> Float:
            for _ in range(int(power)):
                B = L @ B
            return B

        return repeated
    n = L.shape[0]
    ensure_fits(24 * n**2, f"All eigenvectors of a graph of {n} samples", "use an integer power")
    with threads_for(4.0 * L.shape[0] ** 3):
        values, vectors = np.linalg.eigh(L.toarray())
    return lambda B: vectors @ (_without_rounding(values)[:, None] ** power * (vectors.T @ B))


def _without_rounding(values: Float) -> Float:
    """Eigenvalues with rounding errors set to zero: the root of a rounding error is not small."""
    return np.where(values > 1e-12, values, 0.0)


def leading_energies(X: Columns, L: NormalizedLaplacian, count: int, power: float, *, random_state: Any = 0) -> Float:
    """φ₃: Σᵢ (2ʳ − λᵢʳ)(f̂ᵀξᵢ)² for every column over the ``count`` eigenvectors after the trivial one."""
    spectrum = smallest_eigenvectors(L, max(count, 1), nontrivial=True, random_state=random_state)
    gains = 2.0**power - _without_rounding(spectrum.values) ** power
    root = np.sqrt(L.degrees)[:, None]
    energies = np.empty(X.shape[1])
    for block, columns in column_blocks(X):
        weighted = root * columns
        energies[block] = gains @ (spectrum.vectors.T @ weighted) ** 2 / np.sum(weighted**2, axis=0)
    return energies
