"""Adapter for methods that are not selectors of ufselect: any object whose ``fit(X)`` ranks or scores the columns."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone

from ufselect._utils.types import Indices
from ufselect.base import BaseSelector
from ufselect.inspection.refits import batch_argument


def as_selector(method: Any, name: str) -> Any:
    """Return a selector as it is, and any other object with ``fit`` as an :class:`AdaptedSelector`."""
    if isinstance(method, BaseSelector):
        return method
    if isinstance(method, type) or not callable(getattr(method, "fit", None)):
        raise TypeError(f"{name} must be an object with a method fit, got {method!r}.")
    return AdaptedSelector(method)


def best_features(selector: Any, n_features: int) -> Indices:
    """Return the best features of a fitted method, best first."""
    if hasattr(selector, "ranking_"):
        return np.argsort(selector.ranking_, kind="stable")[:n_features]
    return np.argsort(-np.asarray(selector.scores_), kind="stable")[:n_features]


class AdaptedSelector(BaseEstimator):  # type: ignore[misc]
    """A selector by a copy of any method, which sets ``ranking_`` or ``scores_``, and ``n_features_`` if "auto"."""

    def __init__(self, method: Any, n_features_to_select: int | float | str = "auto") -> None:
        self.method = method
        self.n_features_to_select = n_features_to_select

    def fit(self, X: Any, *, batch: Any = None) -> Self:
        """Rank the columns of X; whatever the method raises becomes a ValueError."""
        method, d = clone(self.method, safe=False), X.shape[1]
        count = self._count_of(d)
        if count is not None and hasattr(method, "n_features_to_select"):
            method.n_features_to_select = count
        options = batch_argument(method, batch)
        try:
            found = method.fit(X, **options)
        except Exception as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error
        found = method if found is None else found
        given = next((name for name in ("ranking_", "scores_") if hasattr(found, name)), None)
        if given is None:
            raise ValueError(f"the fit of {type(found).__name__} sets neither ranking_ nor scores_.")
        shape = np.shape(getattr(found, given))
        if shape != (d,):
            raise ValueError(f"{given} of {type(found).__name__} has the shape {shape}, but X has {d} columns.")
        if count is None:
            count = getattr(found, "n_features_", None)
            if not isinstance(count, Integral):
                raise ValueError(
                    f"{type(found).__name__} does not choose the number of features; give it, or put another method "
                    "first."
                )
        self.ranking_ = np.argsort(best_features(found, d)) + 1
        self.n_features_ = int(count)
        return self

    def get_support(self) -> npt.NDArray[np.bool_]:
        """Return which columns are selected."""
        return self.ranking_ <= self.n_features_

    def _count_of(self, d: int) -> int | None:
        given = self.n_features_to_select
        if isinstance(given, str):
            return None
        count = int(given) if isinstance(given, Integral) else max(1, round(given * d))
        if not 1 <= count <= d:
            raise ValueError(f"n_features_to_select={given} must be between 1 and the number of features, {d}.")
        return count
