"""Base classes of all selectors, public for authors of methods.

A method subclasses :class:`BaseSelector`, :class:`GraphSelector` or :class:`ClusterSelector` and implements ``_learn``,
which receives the informative columns as :class:`Columns` and returns a :class:`Ranking`.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ufselect._backend.blocks import column_blocks
from ufselect._backend.columns import (
    Columns,
    Float,
    Indices,
    canonical,
    column_extremes,
    constant_columns,
    holding_dtype,
)
from ufselect._backend.convergence import warn_not_converged
from ufselect._backend.copies import first_equal_columns
from ufselect._backend.dask_arrays import refuse_dask_collection
from ufselect._backend.iterations import Iterations
from ufselect._backend.policy import (
    FEWEST_CLUSTERS_TO_FIND,
    LARGEST_DENSE_SYSTEM,
    LARGEST_VALUE,
    MOST_CLUSTERS_TO_FIND,
    NEIGHBORS_TO_COUNT_CLUSTERS,
)
from ufselect._backend.progress import waiting
from ufselect._ranking import Ranking, rank_by_explanation, rank_by_row_norm, rank_by_score
from ufselect.graphs.adaptive import neighbor_probabilities
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.neighbors import Nearest, nearest_others
from ufselect.graphs.spectral import eigengap, smallest_eigenvectors
from ufselect.solvers._solution import Solution
from ufselect.solvers.l21_path import EntryPath
from ufselect.solvers.nonnegative import GROWING, Tightening

__all__ = [
    "CHOICE_OF_EDGES",
    "COUNT",
    "ITERATIONS",
    "NOT_NEGATIVE",
    "POSITIVE",
    "SHARE",
    "BaseSelector",
    "ClusterSelector",
    "Columns",
    "GraphSelector",
    "Iterations",
    "Ranking",
    "affordable_gram",
    "checked_coef",
    "column_blocks",
    "gram_is_affordable",
    "rank_by_explanation",
    "rank_by_row_norm",
    "rank_by_score",
    "warn_not_converged",
]

State = TypeVar("State")

COUNT: list[Any] = [Interval(Integral, 1, None, closed="left")]
POSITIVE: list[Any] = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE: list[Any] = [Interval(Real, 0, None, closed="left")]
SHARE: list[Any] = [Interval(Real, 0, 1, closed="neither")]

ITERATIONS: dict[str, list[Any]] = {"max_iter": COUNT, "tol": NOT_NEGATIVE}
"""Constraints on the parameters of an iterative method."""

CHOICE_OF_EDGES: dict[str, list[Any]] = {
    "weights": [StrOptions({"heat", "binary", "cosine"})],
    "width": POSITIVE,
}
"""Constraints on the parameters that weight the edges of a neighbour graph."""

_NOT_LEARNED = ("n_features_in_", "feature_names_in_")


def checked_coef(found: Solution | EntryPath) -> Float:
    """The weights that a solver found; warns if it did not reach its tolerance."""
    if not found.converged:
        warn_not_converged("The sparse regression did not reach its tolerance: its weights are approximate.")
    return found.coef


def gram_is_affordable(X: Columns) -> bool:
    """Whether a (d, d) array is smaller than X and not too large."""
    return X.shape[1] <= min(X.shape[0], LARGEST_DENSE_SYSTEM)


def affordable_gram(X: Columns) -> Float | None:
    """XᵀX if it is affordable, else None."""
    return X.gram() if gram_is_affordable(X) else None


def _refuse_enormous(smallest: Any, largest: Any) -> None:
    """Raise if the squares of a column could overflow."""
    size = np.maximum(np.abs(smallest), np.abs(largest)).astype(np.float64)
    enormous = np.flatnonzero(size > LARGEST_VALUE)
    if len(enormous):
        raise ValueError(
            f"Column {enormous[0]} of X has a value of magnitude {size[enormous[0]]:.0e}, too large to be squared. "
            f"Scale X to values of at most {LARGEST_VALUE:.0e}."
        )


class BaseSelector(SelectorMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base class of selectors, which rank all columns in one fit.

    Subclasses implement ``_learn``. It receives the columns that are not constant, centred and scaled, and returns a
    :class:`Ranking` with everything that was learned; ``fit`` turns it into fitted attributes of all columns.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            StrOptions({"auto"}),
        ],
        "scale": [None, StrOptions({"standard", "moderate"})],
        "center": ["boolean"],
        "verbose": ["verbose"],
    }

    n_features_: int
    n_features_to_select: int | float | str
    scale: str | None
    center: bool
    verbose: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Rank the columns of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data without labels.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted selector.
        """
        self._validate_params()
        refuse_dask_collection(X, type(self).__name__)
        X = validate_data(
            self,
            X,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            order="C",
            ensure_min_samples=3,
        )
        X = canonical(X)
        wanted = self._wanted_features(X.shape[1])
        extremes = column_extremes(X)
        _refuse_enormous(*extremes)
        constant = constant_columns(X, extremes, scale=getattr(self, "scale", "standard"))
        if constant.all():
            raise ValueError(
                f"X has no informative column: all {X.shape[1]} columns are constant over {X.shape[0]} samples."
            )
        first = first_equal_columns(X, extremes)
        informative = np.flatnonzero(~constant & (first == np.arange(X.shape[1])))
        kept = X if len(informative) == X.shape[1] else X[:, informative]
        # Sparse: centring is a difference of products, for which single precision is not enough.
        # Dense: a slice of columns is laid out differently in memory, and sums over it round differently.
        kept = kept.astype(np.float64) if sp.issparse(kept) else np.ascontiguousarray(kept)
        with self._clock():
            ranking = self._learn(self._prepared(kept), None if wanted is None else min(wanted, len(informative)))
        self._store(ranking, informative, np.where(constant, -1, first), wanted, X.dtype)
        return self

    @contextmanager
    def _clock(self) -> Iterator[None]:
        """Show the elapsed time on a terminal if ``verbose``: methods without iterations have no progress bar."""
        if not self.verbose:
            yield
            return
        with waiting(type(self).__name__):
            yield

    def _prepared(self, X: Any) -> Columns:
        """The informative columns, centred and scaled as the parameters say."""
        return Columns.prepared(X, center=self.center, scale=self.scale)

    @abstractmethod
    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        """Rank the columns of X.

        Parameters
        ----------
        X : Columns of shape (n, d)
            Columns that are not constant, centred and scaled. Their values must not be changed.
        wanted : int or None
            Number of features to select; None if the data decide.

        Returns
        -------
        Ranking
            Everything that was learned. A subclass sets no attributes itself.
        """

    def _wanted_features(self, n_features: int) -> int | None:
        wanted = self.n_features_to_select
        if isinstance(wanted, str):
            return None
        if not isinstance(wanted, Integral):
            return max(1, round(wanted * n_features))
        if wanted > n_features:
            raise ValueError(f"n_features_to_select={wanted} must not exceed the number of features, {n_features}.")
        return int(wanted)

    def _store(
        self, ranking: Ranking, informative: Indices, first: Indices, wanted: int | None, dtype: np.dtype[Any]
    ) -> None:
        """Set the fitted attributes, for all columns: copies rank behind all others, and constant columns last.

        ``first`` is the index of the first column that is equal to a column, −1 if it is constant.
        """
        for name in [name for name in vars(self) if name.endswith("_") and name not in _NOT_LEARNED]:
            delattr(self, name)  # an earlier fit with other parameters may have learned more
        d = self.n_features_in_
        # A copy or a constant column scores no higher than any other: zero, or less if scores can be negative.
        self.scores_ = np.full(d, min(0.0, float(ranking.scores.min())), dtype=holding_dtype(ranking.scores, dtype))
        self.scores_[informative] = ranking.scores
        is_copy = (first >= 0) & (first != np.arange(d))
        self.copies_ = np.where(is_copy, first, -1)
        self.ranking_ = np.empty(d, dtype=np.intp)
        self.ranking_[informative[ranking.order]] = np.arange(1, len(informative) + 1)
        copies = np.flatnonzero(is_copy)
        copies = copies[np.argsort(self.ranking_[first[copies]], kind="stable")]
        self.ranking_[np.concatenate([copies, np.flatnonzero(first < 0)])] = np.arange(len(informative) + 1, d + 1)
        self.n_features_ = ranking.n_sufficient if wanted is None else wanted
        if ranking.coef is not None:
            self.coef_ = np.zeros((d, ranking.coef.shape[1]), dtype=dtype)
            self.coef_[informative] = ranking.coef
        if ranking.embedding is not None:
            self.embedding_ = ranking.embedding.astype(dtype)
        if ranking.alignment_curve is not None:
            self.alignment_curve_ = ranking.alignment_curve.astype(dtype)
        if ranking.r2_curve is not None:
            self.r2_curve_ = ranking.r2_curve.astype(dtype)
        if ranking.alignments is not None:
            self.alignments_ = np.zeros(d, dtype=dtype)
            self.alignments_[informative] = ranking.alignments
            self.alignments_[copies] = self.alignments_[first[copies]]
        for name, value in ranking.attributes.items():
            setattr(self, name, value)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "ranking_")
        return self.ranking_ <= self.n_features_

    def top_features(self, n_features: int | None = None) -> npt.NDArray[Any]:
        """Return the best features, best first.

        Parameters
        ----------
        n_features : int, optional
            Number of features; by default the number of selected features.

        Returns
        -------
        ndarray of shape (n_features,)
            Feature names if X had names, else column indices.
        """
        check_is_fitted(self, "ranking_")
        count = self.n_features_ if n_features is None else n_features
        if not 0 <= count <= len(self.ranking_):
            raise ValueError(f"n_features={count} must be between 0 and the number of features, {len(self.ranking_)}.")
        best = np.argsort(self.ranking_, kind="stable")[:count]
        names = getattr(self, "feature_names_in_", None)
        return best if names is None else np.asarray(names)[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class GraphSelector(BaseSelector):
    """Base class of selectors that start from the nearest neighbours of each sample."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSelector._parameter_constraints,
        "n_neighbors": [*COUNT, StrOptions({"auto"})],
        "n_jobs": [None, Integral],
    }

    n_neighbors: int | str
    n_jobs: int | None

    def _count_neighbors(self, n: int) -> int:
        """k as given, or by the number of samples."""
        if isinstance(self.n_neighbors, str):
            return self._usual_neighbors(n)
        if self.n_neighbors >= n:
            raise ValueError(f"n_neighbors={self.n_neighbors} must be less than the number of samples, {n}.")
        return self.n_neighbors

    def _usual_neighbors(self, n: int) -> int:
        """The number of neighbours that "auto" stands for: n/200, from 5 to 15, but at most n/8 and at least 3.

        Few samples have small groups, which more neighbours would join; many samples have noise, which more neighbours
        average out.
        """
        return min(max(min(max(round(n / 200), 5), 15, n // 8), 3), n - 2)

    def _neighbors(self, X: Columns) -> Nearest:
        """The k nearest neighbours of each sample."""
        return nearest_others(X, self._count_neighbors(X.shape[0]), n_jobs=self.n_jobs)


class Neighborhood(NamedTuple):
    """The k nearest neighbours of each sample, and the number of clusters."""

    nearest: Nearest
    n_clusters: int


class ClusterSelector(GraphSelector):
    """Base class of selectors with a number of clusters, given or read off the neighbour graph."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphSelector._parameter_constraints,
        "n_clusters": [*COUNT, StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    n_clusters: int | str | None
    random_state: Any
    max_iter: int
    tol: float | None

    def _dimension(self, n_clusters: int) -> int:
        """Dimension of the embedding: c − 1 if the columns are centred, as they cannot express a constant; else c."""
        return max(n_clusters - 1, 1) if self.center else n_clusters

    def _neighborhood(self, X: Columns) -> Neighborhood:
        """The k nearest neighbours of each sample and the number of clusters, from one neighbour search."""
        k = self._count_neighbors(X.shape[0])
        nearest = nearest_others(X, self._neighbors_to_search(k, X.shape[0]), n_jobs=self.n_jobs)
        return Neighborhood(nearest.first(k), self._clusters_among(nearest))

    def _count_clusters(self, X: Columns | Float) -> int:
        """c as given; neighbours are searched only if it is "auto"."""
        n = X.shape[0]
        if not isinstance(self.n_clusters, str):
            return self._given_clusters(n, self.n_clusters)
        return self._clusters_among(nearest_others(X, self._neighbors_to_search(1, n), n_jobs=self.n_jobs))

    def _neighbors_to_search(self, k: int, n: int) -> int:
        """k, or more if the number of clusters is to be found: its graph also needs the distance to one more."""
        return max(k, self._neighbors_to_count_clusters(n) + 1) if isinstance(self.n_clusters, str) else k

    def _neighbors_to_count_clusters(self, n: int) -> int:
        """The number of neighbours in the graph whose eigengap is read."""
        if isinstance(self.n_neighbors, str):
            return min(NEIGHBORS_TO_COUNT_CLUSTERS, n - 2)
        return min(self._count_neighbors(n), n - 2)

    def _clusters_among(self, nearest: Nearest) -> int:
        """c as given, or by the eigengap of the neighbour graph."""
        n = len(nearest.index)
        if not isinstance(self.n_clusters, str):
            return self._given_clusters(n, self.n_clusters)
        k = self._neighbors_to_count_clusters(n)
        L = structure_laplacian(None, neighbor_probabilities(nearest.first(k + 1), k), 1.0)
        # Beyond √n clusters the gaps of a neighbour graph reflect its size rather than clusters.
        most = min(max(int(np.sqrt(n)), 2), MOST_CLUSTERS_TO_FIND)
        least = min(max(most // 2, 2), FEWEST_CLUSTERS_TO_FIND)
        # The error of an eigenvalue is the square of that of its vector.
        values = smallest_eigenvectors(L, most + 1, tol=1e-4, random_state=self.random_state).values
        return eigengap(values, least)

    @staticmethod
    def _given_clusters(n: int, n_clusters: int | None) -> int:
        assert n_clusters is not None  # a method that accepts None does not ask
        if n_clusters >= n:
            raise ValueError(f"n_clusters={n_clusters} must be less than the number of samples, {n}.")
        return n_clusters

    def _tighten(
        self,
        state: State,
        step: Callable[[State, float], State],
        objective: Callable[[State, float], float],
        weights: Sequence[float] = GROWING,
    ) -> tuple[State, dict[str, Any]]:
        """Repeat a step, for each weight z of the orthogonality penalty in turn, until the objective settles.

        Returns the last state and the fitted attributes that tell how the iterations went.
        """
        tightening = Tightening(self.max_iter, self.tol or 0.0, weights)
        iterations = Iterations(self)
        used: list[float] = []
        for _ in iterations:
            used.append(tightening.weight)
            state = step(state, used[-1])
            value = objective(state, used[-1])
            iterations.record(value, tightening.change_after(value))
        return state, {**iterations.attributes(), "orthogonality_history_": np.array(used)}
