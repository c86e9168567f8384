"""What all selectors share: validate, learn, rank, mask."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ufselect._backend.columns import Columns, Float, Indices, constant_columns


@dataclass(frozen=True)
class Ranking:
    """Columns from best to worst, and their scores; where they exist, the weights and the structure curve."""

    order: Indices
    scores: Float
    coef: Float | None = None
    structure_curve: Float | None = None
    n_sufficient: int = 1


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
        "scale": [StrOptions({"standard", "none"})],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    n_features_: int
    n_features_to_select: int | float | str
    center: bool
    scale: str

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
        constant = constant_columns(X)
        if constant.all():
            raise ValueError(
                f"X has no informative column: all {X.shape[1]} of its columns are constant over {X.shape[0]} samples."
            )
        informative = np.flatnonzero(~constant)
        kept = X if len(informative) == X.shape[1] else X[:, informative]
        if not issparse(kept):
            # Slices of columns come in another order in memory, and sums over them with other roundings.
            kept = np.ascontiguousarray(kept)
        columns = Columns.standardized(kept, center=self.center, unit_variance=self.scale == "standard")
        ranking = self._learn(columns, None if wanted is None else min(wanted, len(informative)))
        self._store(ranking, informative, wanted, X.dtype)
        return self

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
        self.scores_ = np.zeros(d, dtype=dtype)
        self.scores_[informative] = ranking.scores
        constant = np.setdiff1d(np.arange(d), informative)
        self.ranking_ = np.empty(d, dtype=np.intp)
        self.ranking_[np.concatenate([informative[ranking.order], constant])] = np.arange(1, d + 1)
        self.n_features_ = ranking.n_sufficient if wanted is None else wanted
        if ranking.coef is not None:
            self.coef_ = np.zeros((d, ranking.coef.shape[1]), dtype=dtype)
            self.coef_[informative] = ranking.coef
        if ranking.structure_curve is not None:
            self.structure_curve_ = ranking.structure_curve.astype(dtype)

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
        best = np.argsort(self.ranking_, kind="stable")[: n_features or self.n_features_]
        names = getattr(self, "feature_names_in_", None)
        return best if names is None else np.asarray(names)[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
