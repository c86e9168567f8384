"""SPEC: features that follow the spectrum of a graph (Zhao and Liu, ICML 2007)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ufselect._backend.blocks import column_blocks
from ufselect._backend.columns import Columns, Float
from ufselect._backend.memory import ensure_fits
from ufselect._ranking import Ranking, rank_by_score
from ufselect.base import EDGE_WEIGHTS, POSITIVE, ClusterSelector
from ufselect.graphs.kernel import gaussian_kernel
from ufselect.graphs.laplacian import Laplacian, NormalizedLaplacian
from ufselect.graphs.neighbors import neighbor_graph
from ufselect.graphs.spectral import smallest_eigenvectors


class SPEC(ClusterSelector):
    """Features that follow the spectrum of the normalised Laplacian.

    With Lₙ = I − D^(-1/2)AD^(-1/2) = Σᵢ λᵢξᵢξᵢᵀ, ascending, f̂ⱼ = D^(1/2)fⱼ at unit length and aᵢ = f̂ⱼᵀξᵢ,

        φ₁ = Σᵢ λᵢʳaᵢ²,    φ₂ = Σ_{i≥2} λᵢʳaᵢ² / (1 − a₁²),    φ₃ = Σ_{i=2..c} (2ʳ − λᵢʳ)aᵢ²;

    the first two are small for a good feature, the third is large. φ₂ with r = 1 is the Laplacian score.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, or which fraction of them. "auto" takes those that score above the mean.
    criterion : {"phi1", "phi2", "phi3"}, default="phi3"
        φ₁ weighs the whole spectrum, φ₂ leaves out the trivial vector, φ₃ looks at the c − 1 vectors after it only.
    power : float, default=1
        r. Other than a whole number it needs all eigenvectors, except for φ₃.
    n_clusters : int or "auto", default="auto"
        c of φ₃. "auto" reads it off the widest gap between the eigenvalues of a neighbour graph,
        from 2 to √n (50 at most).
    affinity : {"neighbors", "kernel"}, default="neighbors"
        A graph of the k nearest, or the paper's Gaussian kernel of all pairs, a dense (n, n) array.
    n_neighbors : int or "auto", default="auto"
        k, the neighbours of a sample. "auto" is 5, or fewer where there are fewer samples.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Weights of the edges between neighbours.
    width : float, default=1.0
        t of the heat weights exp(−‖xᵢ−xⱼ‖²/(2t²)) and of the kernel, as a multiple of the root mean square distance
        between samples.
    scale : {"standard"} or None, default="standard"
        Give all columns unit variance, or take them as they are.
    center : bool, default=True
        Centre the columns. φ₁ and φ₃ depend on it; the paper's do not centre.
    n_jobs : int or None, default=None
        Threads of the neighbour search; the result does not depend on it.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        2ʳ − φ₁, 2ʳ − φ₂ or φ₃: larger is better, none is negative.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.
    n_clusters_ : int
        c, for φ₃.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **EDGE_WEIGHTS,
        "criterion": [StrOptions({"phi1", "phi2", "phi3"})],
        "power": POSITIVE,
        "affinity": [StrOptions({"neighbors", "kernel"})],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        criterion: str = "phi3",
        power: float = 1,
        n_clusters: int | str = "auto",
        affinity: str = "neighbors",
        n_neighbors: int | str = "auto",
        weights: str = "heat",
        width: float = 1.0,
        scale: str | None = "standard",
        center: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.criterion = criterion
        self.power = power
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.scale = scale
        self.center = center
        self.n_jobs = n_jobs

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        L = NormalizedLaplacian(self._affinity(X))
        if self.criterion == "phi3":
            return rank_by_score(leading_energies(X, L, self.n_clusters_ - 1, self.power))
        energies = spectral_energies(X, L, self.power, without_trivial=self.criterion == "phi2")
        return rank_by_score(2.0**self.power - energies)

    def _affinity(self, X: Columns) -> Any:
        """A; for φ₃ also sets ``n_clusters_``."""
        self.__dict__.pop("n_clusters_", None)
        if self.affinity == "neighbors":
            nearest = self._neighbors_and_clusters(X) if self.criterion == "phi3" else self._neighbors(X)
            return neighbor_graph(X, nearest, weights=self.weights, width=self.width)
        kernel = gaussian_kernel(X, self.width, n_copies=2)
        if self.criterion == "phi3":
            self._find_clusters(X)
        return kernel


def spectral_energies(X: Columns, L: NormalizedLaplacian, power: float, *, without_trivial: bool) -> Float:
    """f̂ᵀLₙʳf̂ for every column, f̂ = D^(1/2)f at unit length, less its trivial part if so wanted: φ₁ or φ₂."""
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
    """B ↦ LʳB, by r products where r is a whole number."""
    if power == int(power):

        def repeated(B: Float) -> Float:
            for _ in range(int(power)):
                B = L @ B
            return B

        return repeated
    n = L.shape[0]
    ensure_fits(24 * n**2, f"All eigenvectors of a graph of {n} samples", "take a whole number as power")
    values, vectors = np.linalg.eigh(L.toarray())
    return lambda B: vectors @ (_without_rounding(values)[:, None] ** power * (vectors.T @ B))


def _without_rounding(values: Float) -> Float:
    """Eigenvalues with those that are zero up to rounding put to zero: a root of rounding is none."""
    return np.where(values > 1e-12, values, 0.0)


def leading_energies(X: Columns, L: NormalizedLaplacian, count: int, power: float) -> Float:
    """Σᵢ (2ʳ − λᵢʳ)(f̂ᵀξᵢ)² for every column over the ``count`` vectors after the trivial one: φ₃."""
    spectrum = smallest_eigenvectors(L, max(count, 1), nontrivial=True)
    gains = 2.0**power - _without_rounding(spectrum.values) ** power
    root = np.sqrt(L.degrees)[:, None]
    energies = np.empty(X.shape[1])
    for block, columns in column_blocks(X):
        weighted = root * columns
        energies[block] = gains @ (spectrum.vectors.T @ weighted) ** 2 / np.sum(weighted**2, axis=0)
    return energies
