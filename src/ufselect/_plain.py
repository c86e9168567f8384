"""Methods that are no selectors of ufselect: any object whose ``fit(X)`` ranks or scores the columns."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from ufselect._utils.types import Indices
from ufselect.base import BaseSelector


def as_selector(method: Any, name: str) -> Any:
    """Return a selector as it is, and any other object with ``fit`` as a :class:`PlainSelector`.

    Raises
    ------
    TypeError
        If it is a class, or has no ``fit``.
    """
    if isinstance(method, BaseSelector):
        return method
    if isinstance(method, type) or not callable(getattr(method, "fit", None)):
        raise TypeError(f"{name} must be an object with a method fit, got {method!r}.")
    return PlainSelector(method)


def best_features(selector: Any, n_features: int) -> Indices:
    """Return the best features of a fitted selector, best first."""
    if hasattr(selector, "ranking_"):
        return np.argsort(selector.ranking_, kind="stable")[:n_features]
    return np.argsort(-np.asarray(selector.scores_), kind="stable")[:n_features]


class PlainSelector(BaseEstimator):  # type: ignore[misc]
    """A selector by the ranking of any method.

    Parameters
    ----------
    method : object
        Its ``fit(X)`` sets ``ranking_`` (1 is best) or ``scores_`` (larger is better), as in an experiment. A copy of
        it is fitted.
    n_features_to_select : int, float or "auto", default="auto"
        Number of features, or their share. "auto" is the ``n_features_`` that the method sets.

    Attributes
    ----------
    ranking_ : ndarray of int of shape (d,)
        1 is best.
    n_features_ : int
        Number of features.
    """

    def __init__(self, method: Any, n_features_to_select: int | float | str = "auto") -> None:
        self.method = method
        self.n_features_to_select = n_features_to_select

    def fit(self, X: Any, *, batch: Any = None) -> Self:
        """Rank the columns of X; whatever the method raises becomes a ValueError."""
        method = clone(self.method, safe=False)
        d = X.shape[1]
        count = self._wanted(d)
        if count is not None and hasattr(method, "n_features_to_select"):
            method.n_features_to_select = count
        if batch is not None and not has_fit_parameter(method, "batch"):
            raise ValueError(f"the fit of {type(method).__name__} takes no batch.")
        try:
            found = method.fit(X, **({} if batch is None else {"batch": batch}))
        except Exception as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error
        found = method if found is None else found
        order = _order(found, d)
        self.ranking_ = np.empty(d, dtype=np.intp)
        self.ranking_[order] = np.arange(1, d + 1)
        self.n_features_ = _own_count(found) if count is None else count
        return self

    def get_support(self) -> npt.NDArray[np.bool_]:
        """Return which columns are selected."""
        return self.ranking_ <= self.n_features_

    def _wanted(self, d: int) -> int | None:
        wanted = self.n_features_to_select
        if isinstance(wanted, str):
            return None
        count = int(wanted) if isinstance(wanted, Integral) else max(1, round(wanted * d))
        if not 1 <= count <= d:
            raise ValueError(f"n_features_to_select={wanted} must be between 1 and the number of features, {d}.")
        return count


def _order(found: Any, d: int) -> Indices:
    given = next((name for name in ("ranking_", "scores_") if hasattr(found, name)), None)
    if given is None:
        raise ValueError(f"the fit of {type(found).__name__} sets neither ranking_ nor scores_.")
    shape = np.shape(getattr(found, given))
    if shape != (d,):
        raise ValueError(f"{given} of {type(found).__name__} has the shape {shape}, but X has {d} columns.")
    return best_features(found, d)


def _own_count(found: Any) -> int:
    count = getattr(found, "n_features_", None)
    if not isinstance(count, Integral):
        raise ValueError(
            f"{type(found).__name__} does not choose the number of features; give it, or put another method first."
        )
    return int(count)
