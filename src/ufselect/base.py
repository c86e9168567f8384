"""What all selectors share: validate, learn, rank, mask."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ufselect._backend.columns import Columns, Float, Indices, column_extremes, constant_columns
from ufselect._backend.progress import progress
from ufselect._ranking import Ranking
from ufselect.graphs.adaptive import neighbor_probabilities
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.neighbors import Nearest, nearest_others
from ufselect.graphs.spectral import eigengap, smallest_eigenvectors
from ufselect.solvers._solution import Solution
from ufselect.solvers.l21_path import EntryPath
from ufselect.solvers.nonnegative import GROWING, Tightening

State = TypeVar("State")

ITERATIONS: dict[str, list[Any]] = {
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "verbose": ["verbose"],
}
"""What may be said about the iterations of a method."""

EDGE_WEIGHTS: dict[str, list[Any]] = {
    "weights": [StrOptions({"heat", "binary", "cosine"})],
    "width": [Interval(Real, 0, None, closed="neither")],
}
"""What may be said about the edges of a neighbour graph."""

POSITIVE: list[Any] = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE: list[Any] = [Interval(Real, 0, None, closed="left")]
SHARE: list[Any] = [Interval(Real, 0, 1, closed="neither")]

_LARGEST_GRAM = 5000
_LARGEST_VALUE = 1e140
_MOST_CLUSTERS = 50
"""To look for more would take more time and memory than all else at tens of thousands of samples."""


def coef_of(found: Solution | EntryPath, *, stacklevel: int) -> Float:
    """The weights that a solver found, with a warning where it missed its tolerance."""
    if not found.converged:
        warnings.warn("The regression for W missed its tolerance.", ConvergenceWarning, stacklevel=stacklevel)
    return found.coef


def warn_that_it_still_falls(method: BaseEstimator, *, stacklevel: int) -> None:
    """Say that a method has made all its iterations and its objective is not at rest.

    ``stacklevel`` is the distance from here to whoever called ``fit``.
    """
    warnings.warn(
        f"The objective of {type(method).__name__} still falls after max_iter={method.max_iter} iterations; "
        f"raise max_iter, or tol (now {method.tol}).",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def gram_is_affordable(X: Columns) -> bool:
    """Whether a (d, d) array is smaller than X and not too large."""
    return X.shape[1] <= min(X.shape[0], _LARGEST_GRAM)


def affordable_gram(X: Columns) -> Float | None:
    """XᵀX where it is affordable; None elsewhere."""
    return X.gram() if gram_is_affordable(X) else None


def _refuse_enormous(smallest: Any, largest: Any) -> None:
    """Raise where the squares of a column could overflow."""
    size = np.maximum(np.abs(smallest), np.abs(largest)).astype(np.float64)
    enormous = np.flatnonzero(size > _LARGEST_VALUE)
    if len(enormous):
        raise ValueError(
            f"column {enormous[0]} of X has a value of magnitude {size[enormous[0]]:.0e}, too large to be squared; "
            f"scale X to values of at most {_LARGEST_VALUE:.0e}."
        )


class BaseSelector(SelectorMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """A selector that ranks all columns in one fit.

    A subclass says in ``_learn`` how; it sees the informative columns only, centred and scaled.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            StrOptions({"auto"}),
        ],
        "center": ["boolean"],
        "scale": [None, StrOptions({"standard"})],
    }

    n_features_: int
    n_features_to_select: int | float | str
    center: bool
    scale: str | None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Rank the columns of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data without labels.
        y : Ignored
            There for scikit-learn's conventions.

        Returns
        -------
        self : object
            The fitted selector.
        """
        self._validate_params()
        X = validate_data(
            self,
            X,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            order="C",
            ensure_min_samples=3,
        )
        wanted = self._wanted_features(X.shape[1])
        extremes = column_extremes(X)
        _refuse_enormous(*extremes)
        constant = constant_columns(X, extremes)
        if constant.all():
            raise ValueError(
                f"X has no informative column: all {X.shape[1]} of its columns are constant over {X.shape[0]} samples."
            )
        informative = np.flatnonzero(~constant)
        kept = X if len(informative) == X.shape[1] else X[:, informative]
        # Sparse: centring is a difference of products, of which single precision would leave too little.
        # Dense: slices of columns come in another order in memory, and sums over them with other roundings.
        kept = kept.astype(np.float64) if sp.issparse(kept) else np.ascontiguousarray(kept)
        ranking = self._learn(self._prepared(kept), None if wanted is None else min(wanted, len(informative)))
        self._store(ranking, informative, wanted, X.dtype)
        return self

    def _prepared(self, X: Any) -> Columns:
        """The informative columns, centred and scaled as the method wants them."""
        return Columns.standardized(X, center=self.center, unit_variance=self.scale == "standard")

    @abstractmethod
    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        """Rank the columns of X; ``wanted`` is None where their number is for the data to say."""

    def _wanted_features(self, n_features: int) -> int | None:
        wanted = self.n_features_to_select
        if isinstance(wanted, str):
            return None
        if not isinstance(wanted, Integral):
            return max(1, round(wanted * n_features))
        if wanted > n_features:
            raise ValueError(f"n_features_to_select={wanted} asks for more than the {n_features} features of X.")
        return int(wanted)

    def _store(self, ranking: Ranking, informative: Indices, wanted: int | None, dtype: np.dtype[Any]) -> None:
        """Carry what was learned over to all columns, the constant ones last."""
        d = self.n_features_in_
        # No constant column scores higher than any other: zero, or less where scores can be negative.
        self.scores_ = np.full(d, min(0.0, float(ranking.scores.min())), dtype=dtype)
        self.scores_[informative] = ranking.scores
        constant = np.delete(np.arange(d), informative)
        self.ranking_ = np.empty(d, dtype=np.intp)
        self.ranking_[np.concatenate([informative[ranking.order], constant])] = np.arange(1, d + 1)
        self.n_features_ = ranking.n_sufficient if wanted is None else wanted
        for name in ("coef_", "structure_curve_", "embedding_"):
            self.__dict__.pop(name, None)  # what an earlier fit with other parameters left
        if ranking.coef is not None:
            self.coef_ = np.zeros((d, ranking.coef.shape[1]), dtype=dtype)
            self.coef_[informative] = ranking.coef
        if ranking.structure_curve is not None:
            self.structure_curve_ = ranking.structure_curve.astype(dtype)
        if ranking.embedding is not None:
            self.embedding_ = ranking.embedding.astype(dtype)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "ranking_")
        return self.ranking_ <= self.n_features_

    def top_features(self, n_features: int | None = None) -> npt.NDArray[Any]:
        """The best features, best first.

        Parameters
        ----------
        n_features : int, optional
            How many; by default as many as are selected.

        Returns
        -------
        ndarray of shape (n_features,)
            Names where X had names, else column numbers.
        """
        check_is_fitted(self, "ranking_")
        count = self.n_features_ if n_features is None else n_features
        if not 0 <= count <= len(self.ranking_):
            raise ValueError(f"n_features={count} must be between 0 and the {len(self.ranking_)} features of X.")
        best = np.argsort(self.ranking_, kind="stable")[:count]
        names = getattr(self, "feature_names_in_", None)
        return best if names is None else np.asarray(names)[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class GraphSelector(BaseSelector):
    """A selector that starts from the neighbours of every sample."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSelector._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_jobs": [None, Integral],
    }

    _usual_neighbors: ClassVar[int] = 5
    n_neighbors: int | str
    n_jobs: int | None

    def _count_neighbors(self, n: int) -> int:
        """k as asked for, or as usual, or fewer of few samples."""
        if isinstance(self.n_neighbors, str):
            return min(self._usual_neighbors, n - 2)
        if self.n_neighbors >= n:
            raise ValueError(f"n_neighbors={self.n_neighbors} must be less than the number of samples, {n}.")
        return self.n_neighbors

    def _neighbors(self, X: Columns) -> Nearest:
        """The k nearest others of every sample."""
        return nearest_others(X, self._count_neighbors(X.shape[0]), n_jobs=self.n_jobs)


class ClusterSelector(GraphSelector):
    """A selector that also has a number of clusters, given or read off the neighbour graph."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphSelector._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    n_clusters: int | str
    n_clusters_: int
    max_iter: int
    tol: float
    verbose: int

    def _dimension(self) -> int:
        """Of the embedding: c, less one where all columns are centred and so cannot tell a constant."""
        return max(self.n_clusters_ - 1, 1) if self.center else self.n_clusters_

    def _neighbors_and_clusters(self, X: Columns) -> Nearest:
        """The k nearest others of every sample; sets ``n_clusters_``."""
        n = X.shape[0]
        k = self._count_neighbors(n)
        nearest = nearest_others(X, min(k + 1, n - 1), n_jobs=self.n_jobs)
        self.n_clusters_ = self._count_clusters(n, lambda: neighbor_probabilities(nearest, k))
        return Nearest(nearest.squared_distances[:, :k], nearest.index[:, :k])

    def _find_clusters(self, X: Columns) -> None:
        """Set ``n_clusters_``, with a look at neighbours only where it is for the data to say."""
        if isinstance(self.n_clusters, str):
            self._neighbors_and_clusters(X)
        else:
            self.n_clusters_ = self._given_clusters(X.shape[0], self.n_clusters)

    def _count_clusters(self, n: int, neighbor_graph: Callable[[], sp.csr_array]) -> int:
        """c as asked for, or by the eigengap of a neighbour graph of the original features."""
        if isinstance(self.n_clusters, str):
            L = structure_laplacian(None, neighbor_graph(), 1.0)
            # Beyond √n clusters the gaps of a neighbour graph say more about its size than about clusters.
            most = min(max(int(np.sqrt(n)), 2), _MOST_CLUSTERS)
            # Eigenvalues are right to the square of what their vectors are wrong by.
            return eigengap(smallest_eigenvectors(L, most + 1, tol=1e-4).values)
        return self._given_clusters(n, self.n_clusters)

    @staticmethod
    def _given_clusters(n: int, n_clusters: int) -> int:
        if n_clusters >= n:
            raise ValueError(f"n_clusters={n_clusters} must be less than the number of samples, {n}.")
        return n_clusters

    def _settle(
        self,
        state: State,
        step: Callable[[State, float], State],
        objective: Callable[[State, float], float],
        weights: Sequence[float] = GROWING,
    ) -> State:
        """Repeat a step, for each weight of orthogonality in turn, until the objective stands still; record both."""
        tightening = Tightening(self.max_iter, self.tol, weights)
        history: list[tuple[float, float]] = []
        for _ in progress(range(self.max_iter), self.verbose, type(self).__name__):
            z = tightening.weight
            state = step(state, z)
            history.append((objective(state, z), z))
            tightening.follow(history[-1][0])
            if tightening.settled:
                break
        else:
            warn_that_it_still_falls(self, stacklevel=5)
        self.objective_history_, self.orthogonality_history_ = np.array(history).T
        self.n_iter_ = len(history)
        return state
